// Heights of rows, most of them estimated: sums and searches in logarithmic time (a Fenwick tree).

export class Heights {
  #values: number[] = [];
  #tree: number[] = [0];

  get length(): number {
    return this.#values.length;
  }

  /** Starts over with these heights. */
  reset(values: number[]): void {
    this.#values = values;
    const tree = new Array<number>(values.length + 1).fill(0);
    for (let at = 1; at <= values.length; at += 1) {
      tree[at] = (tree[at] ?? 0) + (values[at - 1] ?? 0);
      const up = at + (at & -at);
      if (up <= values.length) tree[up] = (tree[up] ?? 0) + (tree[at] ?? 0);
    }
    this.#tree = tree;
  }

  get(index: number): number {
    return this.#values[index] ?? 0;
  }

  set(index: number, height: number): void {
    const difference = height - this.get(index);
    if (difference === 0 || index < 0 || index >= this.#values.length) return;
    this.#values[index] = height;
    for (let at = index + 1; at <= this.#values.length; at += at & -at)
      this.#tree[at] = (this.#tree[at] ?? 0) + difference;
  }

  /** The sum of all heights before this row. */
  before(index: number): number {
    let sum = 0;
    for (let at = Math.min(index, this.#values.length); at > 0; at -= at & -at) sum += this.#tree[at] ?? 0;
    return sum;
  }

  total(): number {
    return this.before(this.#values.length);
  }

  /** The row at this distance from the top. */
  at(offset: number): number {
    let place = 0;
    let left = offset;
    let step = 1;
    while (step * 2 <= this.#values.length) step *= 2;
    for (; step > 0; step >>= 1) {
      const next = place + step;
      if (next <= this.#values.length && (this.#tree[next] ?? 0) <= left) {
        place = next;
        left -= this.#tree[next] ?? 0;
      }
    }
    return Math.min(place, Math.max(0, this.#values.length - 1));
  }
}
