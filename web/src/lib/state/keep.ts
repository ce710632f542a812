// What has to survive a reload. Small things are in localStorage; what may be large is in IndexedDB. Where the browser
// keeps neither (a private window may not), memory has to do.

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
    // Full or forbidden.
  }
}

/** What this tab keeps over a reload, apart from the other tabs. */
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
    // Full or forbidden.
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
    asked.onerror = () => reject(asked.error ?? new Error("The browser keeps no data."));
  });
}
