// A cache of fetched pictures, so that scrolling does not fetch them again. The oldest are released.

/** Maximum number of cached pictures. Far fewer are visible at once. */
const MAX_CACHED = 60;

export class PictureShelf {
  readonly #kept = new Map<string, Promise<string>>();
  readonly #max: number;

  constructor(max: number = MAX_CACHED) {
    this.#max = max;
  }

  /** A URL of the picture that an `img` can show. */
  get(path: string, fetch: (path: string) => Promise<Blob>): Promise<string> {
    const known = this.#kept.get(path);
    if (known !== undefined) {
      // The most recently used one is dropped last.
      this.#kept.delete(path);
      this.#kept.set(path, known);
      return known;
    }
    const url = fetch(path).then((blob) => URL.createObjectURL(blob));
    this.#kept.set(path, url);
    // A failed fetch may be retried.
    url.catch(() => this.#kept.delete(path));
    this.#trim();
    return url;
  }

  #trim(): void {
    for (const [path, url] of this.#kept) {
      if (this.#kept.size <= this.#max) return;
      this.#kept.delete(path);
      void url.then((address) => URL.revokeObjectURL(address)).catch(() => undefined);
    }
  }
}

export const shelfOfPictures = new PictureShelf();
