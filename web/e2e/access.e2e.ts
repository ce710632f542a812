// Tokens, share links and the audit log, for admins.

import { describe, expect, it } from "vitest";
import { linkTo, openAs, PHONE, violations } from "./browser.ts";
import type { Role, TokenList } from "../src/lib/api/schema.ts";
import { until } from "./server.ts";
import { stage } from "./setup.ts";

const { serve, open } = stage();
const phone = { viewport: PHONE, hasTouch: true, isMobile: true };

describe("access", () => {
  for (const [device, options] of [
    ["desktop", {}],
    ["phone", phone],
  ] as const)
    it(`is given with a link that works, and taken back, on a ${device}`, async () => {
      const server = await serve();
      const { id } = await server.session({ name: "Shop" });
      await server.api("POST", `v1/sessions/${id}/share`, {});
      const page = await open().visit(server, server.link, options);
      await page.getByRole("button", { name: "Settings" }).click();
      await page.getByRole("menuitem", { name: "Access and audit" }).click();
      const dialog = page.getByRole("dialog", { name: "Access" });
      await dialog.getByRole("button", { name: "New token…" }).click();
      await dialog.getByRole("button", { name: "Cancel" }).click();
      await dialog.getByRole("button", { name: "New token…" }).click();
      await dialog.getByLabel("Name").fill("bob");
      await dialog.getByLabel("May do").selectOption("viewer");
      await dialog.getByLabel("Expires").selectOption("24");
      await dialog.getByLabel("Dollars it may spend").fill("2.5");
      expect(await violations(page)).toEqual([]);
      await dialog.getByRole("button", { name: "Create token" }).click();
      const link = await dialog.getByLabel("Link for bob").inputValue();
      await dialog.getByRole("button", { name: "Copy link" }).waitFor();
      const bob = await open().visit(server, link);
      await bob.getByText("bob · viewer").waitFor();
      await dialog.getByText(/expires in 1 d.*of \$2\.50 spent|expires in 24 h.*of \$2\.50 spent/).waitFor();
      // A second press revokes, not the first one.
      const tokens = async () => (await server.api<TokenList>("GET", "v1/tokens")).tokens.map(({ name }) => name);
      const links = dialog.getByRole("region", { name: "Share links" });
      await links.getByText("only “Shop”").waitFor();
      await links.getByRole("button", { name: /^Revoke shared by anna/ }).click();
      expect(await tokens()).toContain("shared by anna");
      await links.getByRole("button", { name: "Revoke shared by anna, for good" }).click();
      await links.getByText("No session is shared.").waitFor();
      expect(await tokens()).not.toContain("shared by anna");
      await dialog.getByRole("button", { name: "Revoke bob", exact: true }).click();
      await dialog.getByRole("button", { name: "Revoke bob, for good" }).click();
      await bob.getByText("Your access has ended").waitFor();
      // All of it is in the audit log.
      await dialog.getByRole("tab", { name: "Tokens and links" }).press("ArrowRight");
      const log = dialog.getByRole("list", { name: "Audit log" });
      await log.getByText("revoked a token").first().waitFor();
      expect(await violations(page)).toEqual([]);
      await dialog.getByRole("searchbox", { name: "Find in the audit log" }).fill("created a token");
      await until("only these are left", async () => (await log.getByText("revoked a token").count()) === 0);
      expect(await log.getByText("created a token").count()).toBeGreaterThan(0);
    });

  it("is for admins only", async () => {
    const server = await serve();
    const { id } = await server.session();
    for (const role of ["viewer", "approver", "driver"] satisfies Role[]) {
      const page = await openAs(open(), server, role, id);
      await page.getByRole("button", { name: "Settings" }).click();
      await page.getByRole("menuitem", { name: "Keys and help" }).waitFor();
      expect(await page.getByRole("menuitem", { name: "Access and audit" }).count(), role).toBe(0);
    }
  });
});

describe("the installed page", () => {
  it("can be installed, opens without a connection, and shows nothing old as live", async () => {
    const server = await serve();
    const { id } = await server.session({ name: "Shop" });
    const page = await open().visit(server, linkTo(server, id), { serviceWorkers: "allow" });
    await page.getByRole("heading", { name: "Shop", level: 1 }).waitFor();
    const manifest = await page.evaluate(async () => {
      const link = document.querySelector<HTMLLinkElement>("link[rel=manifest]")!;
      const response = await fetch(link.href);
      const { icons, ...rest } = (await response.json()) as { icons: { src: string }[]; display: string };
      const shown = await Promise.all(icons.map(async ({ src }) => (await fetch(new URL(src, link.href))).ok));
      return { kind: response.headers.get("content-type"), display: rest.display, shown };
    });
    expect(manifest).toEqual({ kind: "application/manifest+json", display: "standalone", shown: [true, true, true] });
    await page.evaluate(() => navigator.serviceWorker.ready.then(() => undefined));
    await page.reload();
    await page.getByRole("heading", { name: "Shop", level: 1 }).waitFor();
    await until("the page is kept", () =>
      page.evaluate(async () => {
        const cache = await caches.open("weir-page");
        const files = [...document.querySelectorAll<HTMLScriptElement>("script[src]")].map(({ src }) => src);
        return (await Promise.all(files.map((file) => cache.match(file)))).every((file) => file !== undefined);
      }),
    );
    const kept = await page.evaluate(async () => {
      const cache = await caches.open("weir-page");
      return (await cache.keys()).map(({ url }) => new URL(url).pathname);
    });
    expect(kept.filter((path) => path.startsWith("/v1/"))).toEqual([]);
    await server.kill();
    await page.reload();
    await page.getByText("The server cannot be reached. Trying again…").waitFor();
    expect(await page.getByRole("heading", { name: "Shop" }).count()).toBe(0);
    await server.start();
    await page.getByRole("heading", { name: "Shop", level: 1 }).waitFor();
  });
});
