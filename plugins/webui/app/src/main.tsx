import { render } from "preact";
import { findPages } from "./pages/list";
import { KeyDialog } from "./shell/key";
import { Nav } from "./shell/nav";
import { Notices } from "./shell/notices";
import { Outlet } from "./shell/outlet";
import "./styles/base.css";
import "./styles/parts.css";
import "./styles/shell.css";

function Frame() {
  return (
    <div class="frame">
      <button type="button" class="skip" onClick={skip}>
        Skip to the page
      </button>
      <Nav />
      <Outlet />
      <Notices />
      <KeyDialog />
    </div>
  );
}

/** Move the focus past the navigation. No link: the address names a place in the app. */
function skip(): void {
  document.getElementById("main")?.focus();
}

const root = document.getElementById("app");
if (root) render(<Frame />, root);
void findPages();
