"""Career cards: what they are made of, and the gate that keeps unsupported claims out of them."""
