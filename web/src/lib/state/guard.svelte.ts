// Prevents a card from being answered by an accidental press.
//
// A card that has just appeared or moved ignores input for a moment. A click counts only if the button was pressed
// while the card was ready, and a key only if it was not held down.

/** Long enough to see what is under the pointer, short enough not to get in the way. */
const PAUSE_MS = 500;

export class Guard {
  /** Whether answers are accepted. */
  ready = $state(false);
  #timer: ReturnType<typeof setTimeout> | null = null;
  #pressed: EventTarget | null = null;

  /** Called when the card has appeared, resized or moved. */
  pause(): void {
    this.ready = false;
    this.#pressed = null;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = setTimeout(() => (this.ready = true), PAUSE_MS);
  }

  /** Watches an element and everything that affects its position. */
  watch(card: HTMLElement): () => void {
    const observer = new ResizeObserver(() => this.pause());
    for (const element of [card, card.closest(".column"), card.closest(".pane")]) {
      if (element !== null) observer.observe(element);
    }
    this.pause();
    return () => {
      observer.disconnect();
      if (this.#timer !== null) clearTimeout(this.#timer);
    };
  }

  pressed(event: Event): void {
    this.#pressed = this.ready ? buttonOf(event) : null;
  }

  /** Whether a click counts. Clicks without a pointer come from the keyboard or assistive technology. */
  takes(event: MouseEvent): boolean {
    const byPointer = event.detail > 0;
    const wasPressed = this.#pressed !== null && this.#pressed === buttonOf(event);
    this.#pressed = null;
    return this.ready && (!byPointer || wasPressed);
  }
}

function buttonOf(event: Event): EventTarget | null {
  return event.target instanceof Element ? event.target.closest("button") : null;
}
