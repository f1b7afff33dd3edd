import io
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from mlxp_core.errors import BadRequest
from mlxp_core.prompting import MOST_BYTES
from mlxp_core.prompting.images import open_image, readable_formats
from mlxp_core.testing.pictures import chequered, encoded

RED, WHITE = (255, 0, 0), (255, 255, 255)
WHOLE = {
    kind: encoded(chequered(24, 16), kind)
    for kind in ("PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP")
    if kind in readable_formats()
}


def opened(image, kind="PNG", **options):
    file = io.BytesIO()
    image.save(file, kind, **options)
    found = open_image(file.getvalue(), "image 1")
    assert found.mode == "RGB"
    return [found.getpixel((x, 0)) for x in range(found.width)]


def dot(mode, *values):
    image = Image.new(mode, (len(values), 1))
    for x, value in enumerate(values):
        image.putpixel((x, 0), value)
    return image


def palette(*values):
    image = dot("P", *values)
    image.putpalette([*RED, 0, 255, 0])
    return image


class TestColours:
    def test_rgb_stays(self):
        assert opened(dot("RGB", RED, (1, 2, 3))) == [RED, (1, 2, 3)]

    def test_a_palette_is_looked_up(self):
        assert opened(palette(0, 1)) == [RED, (0, 255, 0)]

    def test_a_transparent_colour_of_a_palette_is_white(self):
        assert opened(palette(0, 1), transparency=1) == [RED, WHITE]

    def test_alpha_is_laid_on_white(self):
        assert opened(dot("RGBA", (255, 0, 0, 255), (0, 0, 0, 0), (0, 0, 0, 51))) == [RED, WHITE, (204,) * 3]

    def test_grey_with_alpha_is_laid_on_white(self):
        assert opened(dot("LA", (10, 0), (100, 255))) == [WHITE, (100,) * 3]

    def test_black_and_white(self):
        assert opened(dot("1", 0, 1)) == [(0,) * 3, WHITE]

    def test_sixteen_bits_become_eight(self):
        assert opened(dot("I;16", 0, 257, 32896, 65535)) == [(0,) * 3, (1,) * 3, (128,) * 3, WHITE]

    def test_four_inks(self):
        assert opened(Image.new("CMYK", (1, 1)), "TIFF") == [WHITE]


class TestShape:
    @pytest.mark.parametrize("orientation", range(1, 9))
    def test_the_camera_was_held_in_any_of_eight_ways(self, orientation):
        upright = Image.new("RGB", (4, 2))
        upright.putpixel((0, 0), RED)
        turns = [
            [],
            [Image.Transpose.FLIP_LEFT_RIGHT],
            [Image.Transpose.ROTATE_180],
            [Image.Transpose.FLIP_TOP_BOTTOM],
            [Image.Transpose.TRANSPOSE],
            [Image.Transpose.ROTATE_90],
            [Image.Transpose.TRANSVERSE],
            [Image.Transpose.ROTATE_270],
        ]
        held = upright
        for turn in turns[orientation - 1]:
            held = held.transpose(turn)
        exif = Image.Exif()
        exif[0x0112] = orientation
        assert open_image(encoded(held, exif=exif), "image 1").tobytes() == upright.tobytes()

    @pytest.mark.filterwarnings("ignore:.*EXIF:UserWarning")
    def test_damaged_exif_leaves_the_image_as_it_is(self):
        file = io.BytesIO()
        Image.new("RGB", (4, 2)).save(file, "JPEG", exif=b"Exif\0\0MM\0*\0\0\0\x08\xff\xff")
        assert open_image(file.getvalue(), "image 1").size == (4, 2)

    def test_of_an_animation_the_first_frame(self):
        frames = [Image.new("RGB", (1, 1), RED), Image.new("RGB", (1, 1), WHITE)]
        file = io.BytesIO()
        frames[0].save(file, "GIF", save_all=True, append_images=frames[1:])
        assert open_image(file.getvalue(), "image 1").getpixel((0, 0)) == RED

    @pytest.mark.parametrize("kind", WHOLE)
    def test_every_format_is_told_by_its_content(self, kind):
        assert open_image(WHOLE[kind], "image 1").size == (24, 16)


class TestRefusals:
    @pytest.mark.parametrize("data", [b"", b"GIF", b"hello", b"%!PS-Adobe-3.0 EPSF-3.0\n", b"<svg/>"])
    def test_what_is_no_image_is_refused_by_name(self, data):
        with pytest.raises(BadRequest, match=r"^image 2 is no image of a supported format \(PNG") as caught:
            open_image(data, "image 2")
        assert caught.value.param == "prompt"

    def test_a_cut_off_image_is_damaged(self):
        with pytest.raises(BadRequest, match="image 3 is damaged: its PNG data"):
            open_image(WHOLE["PNG"][:60], "image 3")

    @pytest.mark.parametrize("size", [(9000, 8000), (20000, 10000), (10000, 9000)])
    def test_too_many_pixels_are_refused_undecoded(self, size):
        header = encoded(Image.new("1", (1, 1)), "PNG")
        wide = header[:16] + size[0].to_bytes(4, "big") + size[1].to_bytes(4, "big") + header[24:29]
        crc = zlib.crc32(wide[12:29]).to_bytes(4, "big")
        with pytest.raises(BadRequest, match="image 1 has more than 64000000 pixels"):
            open_image(wide + crc + header[33:], "image 1")

    def test_too_many_bytes_are_refused(self):
        with pytest.raises(BadRequest, match="image 1 has 20971521 bytes"):
            open_image(bytes(MOST_BYTES + 1), "image 1")

    @pytest.mark.filterwarnings("ignore::UserWarning:PIL")
    @given(
        kind=st.sampled_from(sorted(WHOLE)),
        cut=st.integers(0, 400),
        at=st.integers(0, 400),
        noise=st.binary(max_size=8),
    )
    def test_damage_is_refused_or_survived(self, kind, cut, at, noise):
        data = WHOLE[kind]
        damaged = data[:at] + noise + data[at + len(noise) : len(data) - cut]
        try:
            said = open_image(damaged, "image 1").mode
        except BadRequest as error:
            said = error.message
        assert said == "RGB" or said.startswith("image 1 ")
