// Earlier messages, called back into the composer with the arrow keys as in a shell.

export class Recall {
  /** How many messages back; 0 is what was being typed. */
  #back = 0;
  #typed = "";

  /**
   * The text that comes before (1) or after (-1) the one in the field; null if there is none. `earlier` is newest first.
   * Once the user has changed a text that was called back, it is what is being typed.
   */
  step(by: 1 | -1, field: string, earlier: readonly string[]): string | null {
    if (this.#back > 0 && field !== earlier[this.#back - 1]) this.#back = 0;
    if (this.#back === 0) this.#typed = field;
    const next = this.#back + by;
    if (next < 0 || next > earlier.length) return null;
    this.#back = next;
    return next === 0 ? this.#typed : (earlier[next - 1] ?? null);
  }

  /** Whether the field shows a message that was called back. */
  isShowing(field: string, earlier: readonly string[]): boolean {
    return this.#back > 0 && field === earlier[this.#back - 1];
  }

  reset(): void {
    this.#back = 0;
  }
}
