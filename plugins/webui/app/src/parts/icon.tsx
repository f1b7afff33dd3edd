/** Line drawings in a box of 24 by 24, as the `d` of one path each. */
export const ICONS = {
  chat: "M4 5h16v11H10l-5 4v-4H4z",
  models: "M12 3l8 4.5v9L12 21l-8-4.5v-9zM4 7.5l8 4.5 8-4.5M12 12v9",
  server: "M4 5h16v6H4zM4 13h16v6H4zM8 8h.01M8 16h.01",
  page: "M6 3h8l4 4v14H6zM14 3v4h4",
  close: "M6 6l12 12M18 6L6 18",
  plus: "M12 5v14M5 12h14",
  menu: "M4 7h16M4 12h16M4 17h16",
  search: "M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM16 16l4 4",
  send: "M5 12l14-7-5 14-3-6z",
  stop: "M7 7h10v10H7z",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  check: "M5 12l5 5 9-10",
  edit: "M4 20l1-5L16 4l4 4L9 19zM14 6l4 4",
  again: "M19 12a7 7 0 1 1-2-5M19 3v5h-5",
  forward: "M5 5l8 7-8 7zM14 5l7 7-7 7z",
  left: "M14 6l-6 6 6 6",
  right: "M10 6l6 6-6 6",
  down: "M6 9l6 6 6-6",
  image: "M4 5h16v14H4zM4 16l5-5 4 4 3-3 4 4M15 9h.01",
  tool: "M14 6a4 4 0 0 1 5-2l-2 3 2 2 3-1a4 4 0 0 1-6 4l-8 8-3-3 8-8a4 4 0 0 1 1-3z",
  sliders: "M4 7h9M17 7h3M13 5v4M4 17h3M11 17h9M7 15v4M4 12h12M20 12h0",
  code: "M8 7l-5 5 5 5M16 7l5 5-5 5",
  trash: "M5 7h14M9 7V4h6v3M7 7l1 13h8l1-13",
  more: "M6 12h.01M12 12h.01M18 12h.01",
  branch: "M7 4v16M7 14c6 0 10-2 10-8M17 4v2",
  sun: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v3M12 19v3M2 12h3M19 12h3M5 5l2 2M17 17l2 2M19 5l-2 2M7 17l-2 2",
  moon: "M20 14A8 8 0 0 1 10 4a8 8 0 1 0 10 10z",
  contrast: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM12 3v18",
  download: "M12 4v11M7 11l5 5 5-5M5 20h14",
  upload: "M12 16V5M7 9l5-5 5 5M5 20h14",
  pin: "M9 4h6l-1 6 3 3H7l3-3zM12 13v7",
  thought: "M12 4a6 6 0 0 0-4 10c1 1 1 2 1 3h6c0-1 0-2 1-3a6 6 0 0 0-4-10zM10 20h4",
} as const;

export type IconName = keyof typeof ICONS;

/** A drawing beside or in place of words; never the only name of something. `d` draws a path of one's own. */
export function Icon({ name, d }: { name?: IconName; d?: string }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={d ?? ICONS[name ?? "page"]} />
    </svg>
  );
}
