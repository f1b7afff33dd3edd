"""Pictures by file, by paste and by drop, for models that see; with a limit that is told."""

import base64
import io
import json

import pytest
from PIL import Image

GIVE = """async ([how, name, type, data]) => {
    const bytes = Uint8Array.from(atob(data), char => char.charCodeAt(0));
    const transfer = new DataTransfer();
    transfer.items.add(new File([bytes], name, { type }));
    const target = document.querySelector(how === 'paste' ? '#message' : '.composer');
    const init = { bubbles: true, cancelable: true };
    target.dispatchEvent(how === 'paste'
        ? new ClipboardEvent('paste', { ...init, clipboardData: transfer })
        : new DragEvent('drop', { ...init, dataTransfer: transfer }));
}"""


@pytest.fixture(scope="module")
def seeing(live_pages, tiny_checkpoints):
    """A server of a random model that sees."""
    with live_pages(tiny_checkpoints / "qwen35") as served:
        yield served


@pytest.fixture
def picture():
    out = io.BytesIO()
    Image.new("RGB", (40, 30), (200, 30, 30)).save(out, "PNG")
    return out.getvalue()


def give(page, how, name, kind, data):
    page.evaluate(GIVE, [how, name, kind, base64.b64encode(data).decode()])


@pytest.mark.parametrize("protocol", ["openai-chat", "openai-responses", "anthropic"])
def test_pictures_reach_the_model(chat, seeing, picture, protocol):
    page = chat(seeing.url)
    page.page.get_by_label("Protocol").select_option(protocol)
    page.open("Options").get_by_label("Most tokens").fill("4")
    page.page.get_by_label("Attach pictures. Pictures, up to 10.0 MiB each").set_input_files(
        {"name": "file.png", "mimeType": "image/png", "buffer": picture}
    )
    give(page.page, "paste", "pasted.png", "image/png", picture)
    give(page.page, "drop", "dropped.png", "image/png", picture)
    page.page.get_by_alt_text("dropped.png").wait_for()
    page.page.get_by_label("Remove pasted.png").click()
    answer = page.ask("What is this?")
    assert "ended at its limit" in answer.locator(".facts").inner_text()
    assert page.page.locator(".bubble img").evaluate_all("all => all.map(img => img.alt)") == [
        "file.png",
        "dropped.png",
    ]
    asked = json.dumps(page.request())
    assert asked.count(base64.b64encode(picture).decode()) == 2
    page.page.reload()
    page.page.get_by_alt_text("file.png").wait_for()


def test_what_cannot_be_taken_is_refused_in_words(chat, seeing, picture):
    page = chat(seeing.url)
    give(page.page, "drop", "notes.txt", "text/plain", b"hello")
    page.page.get_by_text("notes.txt is no PNG, JPEG, WebP or GIF picture").wait_for()
    give(page.page, "drop", "big.png", "image/png", picture + bytes(10 * 2**20))
    page.page.get_by_text("big.png is over the limit of 10 MiB").wait_for()
    assert page.page.locator(".pictures li").count() == 0


def test_a_model_that_does_not_see_takes_none(chat, picture):
    page = chat()
    assert page.page.get_by_label("Attach pictures. This model does not see pictures").is_disabled()
    give(page.page, "paste", "pasted.png", "image/png", picture)
    page.page.get_by_text("This model does not see pictures; choose one that does.").wait_for()
