"""Published models in the words of a grid, a file each, and what is made of them."""
