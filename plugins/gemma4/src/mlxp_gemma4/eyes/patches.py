"""Cutting images into squares."""

import mlx.core as mx


def patches_of(pixels: mx.array, side: int) -> mx.array:
    """Cut an image into squares, row by row, and colours into numbers from 0 to 1.

    Args:
        pixels: ``[height, width, 3]`` bytes; ``side`` divides height and width.
        side: pixels of a square, both ways.

    Returns:
        ``[squares, side * side * 3]`` float32; of a square pixel by pixel, row by row, and of a pixel its colours.
    """
    height, width, colours = pixels.shape
    squares = pixels.reshape(height // side, side, width // side, side, colours).swapaxes(1, 2)
    return squares.reshape(-1, side * side * colours).astype(mx.float32) / 255
