const HIDDEN_MS = 250;

/** Runs something at most once a frame, however often it is asked for; in a hidden tab, where no frames come, by time. */
export class Pace {
  private waiting = false;

  constructor(private readonly work: () => void) {}

  ask(): void {
    if (this.waiting) return;
    this.waiting = true;
    if (document.visibilityState === "hidden") setTimeout(() => this.now(), HIDDEN_MS);
    else requestAnimationFrame(() => this.now());
  }

  now(): void {
    this.waiting = false;
    this.work();
  }
}
