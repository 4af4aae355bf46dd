"""What screens are made of: cards, lists, bars, charts. Plain functions from figures to lines."""
