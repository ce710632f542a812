// Data that survives a reload. Small values are in localStorage, possibly large ones in IndexedDB. If the browser
// stores neither (as in some private windows), memory is used.

export function recall<T>(key: string, fallback: T): T {
  try {
    const text = localStorage.getItem(`weir.${key}`);
    return text === null ? fallback : (JSON.parse(text) as T);
  } catch {
    return fallback;
  }
}

export function remember(key: string, value: unknown): void {
  try {
    if (value === null || value === undefined || value === "") localStorage.removeItem(`weir.${key}`);
    else localStorage.setItem(`weir.${key}`, JSON.stringify(value));
  } catch {
    // Storage is full or blocked.
  }
}

/** What this tab keeps over a reload, separate from other tabs. */
export function inTab<T>(key: string): T | undefined {
  try {
    const text = sessionStorage.getItem(`weir.${key}`);
    return text === null ? undefined : (JSON.parse(text) as T);
  } catch {
    return undefined;
  }
}

export function keepInTab(key: string, value: unknown): void {
  try {
    if (value === null) sessionStorage.removeItem(`weir.${key}`);
    else sessionStorage.setItem(`weir.${key}`, JSON.stringify(value));
  } catch {
    // Storage is full or blocked.
  }
}

export interface Shelf<T> {
  all(): Promise<T[]>;
  put(key: string, value: T): Promise<void>;
  remove(key: string): Promise<void>;
}

export function memoryShelf<T>(): Shelf<T> {
  const values = new Map<string, T>();
  return {
    all: () => Promise.resolve([...values.values()]),
    put: (key, value) => Promise.resolve(void values.set(key, value)),
    remove: (key) => Promise.resolve(void values.delete(key)),
  };
}

export async function openShelf<T>(name: string): Promise<Shelf<T>> {
  try {
    const database = await request<IDBDatabase>(() => {
      const opening = indexedDB.open(`weir-${name}`, 1);
      opening.onupgradeneeded = () => opening.result.createObjectStore("values");
      return opening;
    });
    const store = (mode: IDBTransactionMode) => database.transaction("values", mode).objectStore("values");
    return {
      all: () => request<T[]>(() => store("readonly").getAll() as IDBRequest<T[]>),
      put: async (key, value) => void (await request(() => store("readwrite").put(value, key))),
      remove: async (key) => void (await request(() => store("readwrite").delete(key))),
    };
  } catch {
    return memoryShelf<T>();
  }
}

function request<T>(start: () => IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const asked = start();
    asked.onsuccess = () => resolve(asked.result);
    asked.onerror = () => reject(asked.error ?? new Error("This browser does not store data."));
  });
}
