"""What pictures show, as data: examples, points, scenes."""
