"""What a data set will take, told beforehand."""
