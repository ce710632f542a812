// Pictures that were fetched, so that scrolling does not fetch them again. The oldest are given back.

/** So many are kept. What is in sight is far less. */
const MOST = 60;

export class PictureShelf {
  readonly #kept = new Map<string, Promise<string>>();
  readonly #most: number;

  constructor(most: number = MOST) {
    this.#most = most;
  }

  /** The address of a picture that an `img` can show. */
  get(path: string, fetch: (path: string) => Promise<Blob>): Promise<string> {
    const known = this.#kept.get(path);
    if (known !== undefined) {
      // The one that was used last goes last.
      this.#kept.delete(path);
      this.#kept.set(path, known);
      return known;
    }
    const url = fetch(path).then((blob) => URL.createObjectURL(blob));
    this.#kept.set(path, url);
    // What failed may be tried again.
    url.catch(() => this.#kept.delete(path));
    this.#trim();
    return url;
  }

  #trim(): void {
    for (const [path, url] of this.#kept) {
      if (this.#kept.size <= this.#most) return;
      this.#kept.delete(path);
      void url.then((address) => URL.revokeObjectURL(address)).catch(() => undefined);
    }
  }
}

export const shelfOfPictures = new PictureShelf();
