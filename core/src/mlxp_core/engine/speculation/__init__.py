"""Guessing ahead: who guesses which tokens, whether it pays, and how a pass finds out which of them were right.

A row's next tokens are guessed, and one pass reads its last token and all guesses. The sampler then draws behind each
of them what it would draw one by one, with the same random numbers. As long as a guess is what is drawn, the draw
behind it counts; the first that is not ends it. So a row says what it says without guesses, greedy or not, and every
pass brings it one token at least. What was read in vain is taken back (``BatchCache.trim``).

``lookup`` guesses from what the row has read and said, ``rows`` says how far to trust that, ``allowance`` measures,
``guesser`` decides; none of them has arrays. ``drafters`` are networks that guess, ``drafting`` loads them. ``verify``
is the pass.
"""
