// Keeps the page itself, so that an installed one opens without a connection, and says then that there is none. Nothing
// of the API is ever kept: what is shown as live comes from the server.

const CACHE = "weir-page";
const base = new URL("./", self.location.href);

/** The files that the page names. Their names change with their content. */
const named = (html) =>
  [...html.matchAll(/(?:src|href)="\.\/(assets\/[^"]+)"/g)].map((match) => new URL(match[1], base).href);

/** Keeps this page; if it is another one than before, the files of that one go. */
async function keep(response) {
  const cache = await caches.open(CACHE);
  const html = await response.clone().text();
  const before = await cache.match(base.href).then((known) => known?.text());
  if (html === before) return;
  const wanted = new Set([base.href, ...named(html)]);
  for (const request of await cache.keys()) if (!wanted.has(request.url)) await cache.delete(request);
  await cache.put(base.href, response);
  await Promise.all(named(html).map(async (file) => (await cache.match(file)) ?? cache.add(file)));
}

self.addEventListener("install", (event) => {
  self.skipWaiting();
  event.waitUntil(fetch(base.href, { cache: "no-cache" }).then((page) => (page.ok ? keep(page) : undefined)));
});

self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

async function page(request) {
  try {
    const response = await fetch(request);
    if (response.ok) await keep(response.clone()).catch(() => undefined);
    return response;
  } catch (error) {
    const known = await caches.match(base.href);
    if (known) return known;
    throw error;
  }
}

async function file(request) {
  const known = await caches.match(request);
  if (known) return known;
  const response = await fetch(request);
  if (response.ok) {
    const cache = await caches.open(CACHE);
    await cache.put(request, response.clone());
  }
  return response;
}

self.addEventListener("fetch", (event) => {
  const { request } = event;
  const url = new URL(request.url);
  if (request.method !== "GET" || !url.href.startsWith(base.href)) return;
  if (request.mode === "navigate" && url.pathname === base.pathname) event.respondWith(page(request));
  else if (url.href.startsWith(`${base.href}assets/`)) event.respondWith(file(request));
});
