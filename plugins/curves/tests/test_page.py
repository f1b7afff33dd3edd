"""The designer in a real browser: its arithmetic is the sampler's, and what is drawn there is what is asked for."""

import json
import random

import msgspec
import pytest

from mlxp_core.loading.sketch import write_sketch
from mlxp_core.testing.live import serve_folders
from mlxp_curves.curve import Curve, Point, secants, spline, tangents

MODULES = "/webui/pages/curves"
PHONE = {"width": 390, "height": 780}


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = write_sketch(tmp_path_factory.mktemp("models") / "sketch")
    with serve_folders(folder, flags={"engine": {"dtype": "float32"}}) as running:
        yield running


@pytest.fixture(scope="module")
def modules(served, chromium):
    """Evaluates scripts that import the page's modules; nothing is shown."""
    page = chromium.new_page()
    page.goto(f"{served.url}{MODULES}/page.css")
    yield page.evaluate
    page.close()


@pytest.fixture
def designer(visit, served):
    """The page, once the model's distribution is behind the curve."""

    def begin(**options):
        page = visit(f"{served.url}/#/curves", **options)
        page.locator(".histogram rect").first.wait_for(state="attached")
        page.get_by_role("table", name="The likeliest next tokens").wait_for()
        return page

    return begin


def points_of(page):
    """Return what each point says of itself."""
    points = page.get_by_role("slider")
    return [points.nth(at).get_attribute("aria-valuetext") for at in range(points.count())]


def drag(page, number, dx, dy):
    box = page.get_by_role("slider", name=f"Point {number} of 5").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + dx, y + dy, steps=4)
    page.mouse.up()


def asked_for(page, act):
    """Return the bodies of the requests for samples that ``act`` makes, once they are answered."""
    sent = []

    def note(request):
        if request.url.endswith("/v1/curves/generate"):
            sent.append(request)

    page.on("request", note)
    act()
    page.locator("[role=status]", has_text="drawing").wait_for(state="detached")
    page.remove_listener("request", note)
    return [json.loads(request.post_data) for request in sent], [
        request.response().json() for request in sent
    ]


# ── Arithmetic ──────────────────────────────────────────────────────────────────────────────────────────────────


def computed(modules, curves, places):
    """Return secants, tangents and values of curves, as the page computes them."""
    return modules(
        f"""async ([curves, places]) => {{
            const m = await import("{MODULES}/spline.js");
            return curves.map((points) => {{
                const through = m.knots(points);
                return [m.secants(through), m.tangents(through), places.map(m.spline(points))];
            }});
        }}""",
        [curves, places],
    )


def as_json(curve):
    return msgspec.to_builtins(curve)["points"]


def test_its_curve_is_the_vectors(modules, vectors):
    known = vectors["curve"]
    curve = Curve(tuple(Point(*point) for point in known["points"]))
    ((slopes, tilts, values),) = computed(modules, [as_json(curve)], known["u"])
    assert slopes == pytest.approx(known["secants"], abs=1e-6)
    assert tilts == pytest.approx(known["tangents"], abs=1e-6)
    assert values == pytest.approx(known["values"], abs=1e-6)


def test_its_curve_is_the_samplers(modules):
    """Any curve, not only those that five points can make."""
    drawn = random.Random(7)

    def any_curve():
        xs = sorted(drawn.sample(range(1, 1000), drawn.randint(2, 12)))
        ys = sorted(drawn.uniform(0, 100) ** 3 / 1e4 for _ in xs)
        return Curve(tuple(Point(x / 10, y) for x, y in zip(xs, ys, strict=True)))

    curves = [any_curve() for _ in range(60)]
    places = [-20.0, *(drawn.uniform(-15, 0) for _ in range(40)), 0.0]
    found = computed(modules, [as_json(curve) for curve in curves], places)
    for curve, (slopes, tilts, values) in zip(curves, found, strict=True):
        assert slopes == pytest.approx(secants(curve.knots()), rel=1e-9)
        assert tilts == pytest.approx(tangents(curve.knots()), rel=1e-9)
        assert values == pytest.approx([spline(curve).at(u) for u in places], rel=1e-9, abs=1e-9)


def test_wherever_points_are_moved_the_server_takes_the_curve(modules):
    drawn = random.Random(11)
    moves = [[drawn.randrange(5), 10 ** drawn.uniform(-9, 4), 10 ** drawn.uniform(-9, 4)] for _ in range(400)]
    curves = modules(
        f"""async (moves) => {{
            const m = await import("{MODULES}/points.js");
            let points = m.DIAGONAL;
            return moves.map(([at, x, y]) => {{
                points = m.moved(points, at, x, y);
                return m.values(points);
            }});
        }}""",
        moves,
    )
    for curve in curves:
        taken = msgspec.convert(curve, Curve)
        assert (taken.points[0].x_pct, taken.points[-1].x_pct) == (1e-4, 100)


# ── Drawing ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_dragged_curve_is_what_samples_are_drawn_by(designer, served):
    page = designer()
    before = points_of(page)
    drag(page, 3, 0, -60)
    after = points_of(page)
    assert [old == new for old, new in zip(before, after, strict=True)] == [True, True, False, True, True]
    bodies, answers = asked_for(page, page.get_by_role("button", name="Generate").click)
    plain, bent = sorted(bodies, key=lambda body: "curve" in body)
    assert plain["default"] is True
    assert (plain["n"], plain["seed"], plain["max_tokens"]) == (4, 100, 90)
    third = msgspec.convert(bent["curve"], Curve).points[2]
    assert third.x_pct == pytest.approx(1, rel=0.05)
    assert third.y_pct > 2
    for body, told in zip(bodies, answers, strict=True):
        assert served.client.post("/v1/curves/generate", json=body).json()["samples"] == told["samples"]
        title = "By the curve" if "curve" in body else "As the server draws"
        assert page.get_by_role("region", name=title).get_by_role("listitem").count() == len(told["samples"])


def test_points_move_by_keys_and_results_are_put_away(designer):
    page = designer()
    asked_for(page, page.get_by_role("button", name="Generate").click)
    page.get_by_role("region", name="As the server draws").wait_for()
    point = page.get_by_role("slider", name="Point 2 of 5")
    before = float(point.get_attribute("aria-valuenow"))
    point.focus()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Shift+ArrowUp")
    assert float(point.get_attribute("aria-valuenow")) == pytest.approx(before * 1.05 * 1.5)
    assert page.get_by_role("region", name="As the server draws").count() == 0


def test_a_straight_curve_draws_one_way_and_is_no_test(designer):
    page = designer()
    bodies, _ = asked_for(page, page.get_by_role("button", name="Generate").click)
    assert [body["default"] for body in bodies] == [True]
    assert page.get_by_role("button", name="Test (blind)").is_disabled()
    assert page.get_by_role("button", name="Use in chat").is_disabled()
    page.get_by_role("button", name="Warmer").click()
    assert page.get_by_role("button", name="Test (blind)").is_enabled()


def test_the_blind_test_tells_nothing_before_the_guess(designer):
    page = designer()
    page.get_by_role("button", name="Warmer").click()
    bodies, _ = asked_for(page, page.get_by_role("button", name="Test (blind)").click)
    assert {body["n"] for body in bodies} == {1}
    assert {body["max_tokens"] for body in bodies} == {60}
    assert len({body["seed"] for body in bodies}) == 2
    test = page.get_by_role("region", name="Blind test")
    assert "as the server draws" not in test.inner_text()
    test.get_by_role("button", name="B is the curve's").click()
    assert test.get_by_text("by the curve", exact=True).count() == 1
    right = test.get_by_text("Right.").count() == 1
    assert f"{int(right)} of 1 right so far" in test.inner_text()


def test_what_is_shown_of_the_next_token_is_the_models(designer, served):
    page = designer()
    prompt = page.get_by_role("textbox", name="Prompt").input_value()
    told = served.client.post(
        "/v1/curves/signal", json={"prompt": prompt, "thinking": False, "likeliest": 12}
    )
    expected = [each["text"] for each in told.json()["likeliest"]]
    rows = page.get_by_role("table", name="The likeliest next tokens").get_by_role("row")
    shown = [rows.nth(at).get_by_role("rowheader").inner_text() for at in range(1, rows.count())]
    assert [json.loads(text) for text in shown] == expected


def test_values_are_copied_as_requests_carry_them(designer):
    page = designer(permissions=["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Cooler").click()
    page.get_by_role("button", name="Copy values").click()
    page.get_by_text("Values copied").wait_for()
    taken = msgspec.json.decode(page.evaluate("() => navigator.clipboard.readText()"), type=Curve)
    assert spline(taken).at(-5.0) == pytest.approx(-5 / 0.7, abs=0.05)


def test_it_is_used_in_chat(designer):
    page = designer()
    page.get_by_role("button", name="Cooler").click()
    page.get_by_role("button", name="Use in chat").click()
    page.get_by_label("Message", exact=True).wait_for()
    with page.expect_request("**/v1/chat/completions") as sent:
        page.get_by_label("Message", exact=True).press("Enter")
    body = json.loads(sent.value.post_data)
    assert len(msgspec.convert(body["sampler_stages"]["curve"], Curve).points) == 5


def test_curve_and_prompt_are_still_there_after_a_reload(designer):
    page = designer()
    page.get_by_role("button", name="Warmer").click()
    page.get_by_role("textbox", name="Prompt").fill("Tell me of ships.")
    kept = points_of(page)
    page.reload()
    page.locator(".histogram rect").first.wait_for(state="attached")
    assert points_of(page) == kept
    assert page.get_by_role("textbox", name="Prompt").input_value() == "Tell me of ships."


# ── For everybody ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("options", [{}, {"color_scheme": "dark"}, PHONE], ids=["light", "dark", "phone"])
def test_nobody_is_left_out(designer, violations, options):
    page = designer(**options)
    page.get_by_role("button", name="Warmer").click()
    asked_for(page, page.get_by_role("button", name="Generate").click)
    assert violations(page) == []
    width = page.evaluate("() => document.querySelector('.page').scrollWidth")
    assert width <= page.viewport_size["width"]


def test_what_cannot_be_done_is_said(designer):
    page = designer(expected=("400",))
    page.get_by_role("textbox", name="Prompt").fill("x" * 20_000)
    page.get_by_role("button", name="Generate").click()
    page.get_by_text("shorten the prompt").first.wait_for()
