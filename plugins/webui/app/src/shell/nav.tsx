import { pages } from "../pages/list";
import { Icon, type IconName } from "../parts/icon";
import { address, place } from "./router";
import { type Choice, choice, choose } from "./theme";

const NEXT: Record<Choice, Choice> = { system: "light", light: "dark", dark: "system" };
const DRAWN: Record<Choice, IconName> = { system: "contrast", light: "sun", dark: "moon" };

export function Nav() {
  return (
    <nav class="nav" aria-label="Pages">
      <ul>
        {pages.value.map((page) => (
          <li key={page.id}>
            <a href={address(page.id)} aria-current={place.value.page === page.id ? "page" : undefined}>
              <Icon d={page.icon} />
              <span>{page.title}</span>
            </a>
          </li>
        ))}
      </ul>
      <button
        type="button"
        class="plain theme"
        aria-label={`Theme: ${choice.value}; change to ${NEXT[choice.value]}`}
        onClick={() => choose(NEXT[choice.value])}
      >
        <Icon name={DRAWN[choice.value]} />
        <span>{choice.value}</span>
      </button>
    </nav>
  );
}
