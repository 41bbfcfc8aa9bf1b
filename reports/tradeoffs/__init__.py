"""What a cell costs against what it gives: which cells nothing as cheap beats."""
