const HIDDEN_MS = 250;

/** Runs something at most once a frame, however often it is asked for; in a hidden tab, where no frames come, by time. */
export class Pace {
  private waiting = false;
  private stopped = false;

  constructor(private readonly work: () => void) {}

  ask(): void {
    if (this.waiting) return;
    this.waiting = true;
    if (document.visibilityState === "hidden") setTimeout(() => this.now(), HIDDEN_MS);
    else requestAnimationFrame(() => this.now());
  }

  /** Nothing runs any more, not even what was asked for. */
  stop(): void {
    this.stopped = true;
  }

  private now(): void {
    this.waiting = false;
    if (!this.stopped) this.work();
  }
}
