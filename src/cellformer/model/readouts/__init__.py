"""From the last hidden vectors to the outputs."""
