"""Find a Chromium that the tests can drive; with ``--install``, bring one where there is none."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MAC = Path("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome")


def find_browser() -> str | None:
    """Return the path of a browser: what MLXP_CHROMIUM names, the machine's, or the one that playwright brought."""
    named = os.environ.get("MLXP_CHROMIUM")
    known = (named, *map(shutil.which, NAMES), str(MAC))
    return next((path for path in known if path and Path(path).exists()), None) or _playwrights()


def _playwrights() -> str | None:
    from playwright.sync_api import sync_playwright  # noqa: PLC0415  # slow, and mostly not needed

    with sync_playwright() as started:
        path = started.chromium.executable_path
    return path if Path(path).exists() else None


def install() -> None:
    """Install Debian's Chromium where that is how this machine gets its programs, else playwright's own."""
    if shutil.which("apt-get") and os.geteuid() == 0:
        environ = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        for words in (("update", "-qq"), ("install", "-y", "-qq", "--no-install-recommends", "chromium")):
            subprocess.run(["apt-get", *words], env=environ, check=True)  # noqa: S603, S607  # asked for
    else:
        subprocess.run([sys.executable, "-m", "playwright", "install", "chromium"], check=True)  # as above


def main() -> None:
    """Say where the browser is."""
    if find_browser() is None and "--install" in sys.argv[1:]:
        try:
            install()
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"no browser could be installed: {error}", file=sys.stderr)
    print(find_browser() or "no Chromium here; the tests of the web app will be skipped")


if __name__ == "__main__":
    main()
