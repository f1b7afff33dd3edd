import type { Tool } from "../model";

export const clock: Tool = {
  name: "clock",
  description: "Tell the date and the time now, here or in a time zone.",
  parameters: {
    type: "object",
    properties: {
      time_zone: { type: "string", description: "Such as Europe/Warsaw; absent = the user's own." },
    },
  },
};

/** Return the date and time in a zone. Throws where there is no such zone. */
export function tell(now: Date, zone?: string): string {
  const timeZone = zone || Intl.DateTimeFormat().resolvedOptions().timeZone;
  try {
    const told = now.toLocaleString("en-GB", { timeZone, dateStyle: "full", timeStyle: "long" });
    return `${told} (${timeZone})`;
  } catch {
    throw new Error(`there is no time zone “${zone}”`);
  }
}
