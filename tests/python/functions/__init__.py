"""What decorating gives: function objects, their making and their end, STATOR=all."""
