"""What every floor needs and no field of mathematics names: files, progress, words for errors."""
