"""From features and encodings to the first hidden vectors."""
