"""What a decoder costs, counted on the meta device: its own modules run, on shapes alone."""
