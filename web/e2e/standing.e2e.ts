// What the page shows about the state of a session: what it waits for, what runs, what was refused, what it may access.

import { dirname } from "node:path";
import { describe, expect, it } from "vitest";
import { composer, linkTo, openAs, PHONE, said, screenshot, send, violations } from "./browser.ts";
import { program, script, until } from "./server.ts";
import { stage } from "./setup.ts";

const { serve, open } = stage();
const phone = { viewport: PHONE, hasTouch: true, isMobile: true };
const slow = script({ sleep: 600, text: "Late." });

describe("a session", () => {
  for (const [name, options] of [
    ["desktop", {}],
    ["phone", phone],
  ] as const) {
    it(`that is sandboxed says so, on a ${name}`, async () => {
      const server = await serve({ args: ["--sandbox", "--sandbox-read", dirname(program())] });
      const { id } = await server.session();
      const page = await open().visit(server, linkTo(server, id), options);
      const word = page.getByText("sandboxed", { exact: true });
      await word.waitFor();
      // The path is cut, not this word.
      const box = (await word.boundingBox())!;
      const lamps = (await page.locator(".lamps").boundingBox())!;
      expect(box.width > 40 && box.x + box.width <= lamps.x).toBe(true);
      await composer(page).fill(script({ text: "From inside." }));
      await composer(page).press("Control+Enter");
      await said(page, "From inside.").waitFor();
      await screenshot(page, `sandboxed-${name}`);
    });
  }

  it("that is not sandboxed does not say so", async () => {
    const server = await serve();
    const { id } = await server.session();
    const page = await open().visit(server, linkTo(server, id));
    await page.getByTitle("Agent: not started").waitFor();
    expect(await page.getByText("sandboxed").count()).toBe(0);
  });

  it("that waits for a process says so, and starts when one is free", async () => {
    const server = await serve({ args: ["--max-processes", "1"] });
    const [first, second] = [await server.session({ name: "First" }), await server.session({ name: "Second" })];
    await server.say(first.id, slow);
    await until("the first one works", async () => (await server.info(first.id)).status === "running");
    const page = await open().visit(server, linkTo(server, second.id));
    await send(page, script({ text: "My turn." }));
    await page.getByText("Waiting for a free process").waitFor();
    await screenshot(page, "waiting-for-a-process");
    expect(await violations(page)).toEqual([]);
    await server.api("POST", `v1/sessions/${first.id}/stop`);
    await said(page, "My turn.").waitFor();
    expect(await page.getByText("Waiting for a free process").count()).toBe(0);
  });

  it("that waits for a budget says so", async () => {
    const server = await serve();
    const { token } = await server.api<{ token: string }>("POST", "v1/tokens", {
      name: "ci",
      role: "driver",
      max_cost_usd: 1,
    });
    const [first, second] = [await server.session(), await server.session()];
    // Until a turn of the token has ended its cost is unknown, so turns run one at a time.
    const body = { client_id: crypto.randomUUID(), text: slow };
    await server.api("POST", `v1/sessions/${first.id}/messages`, body, token);
    await until("the first one works", async () => (await server.info(first.id)).status === "running");
    const page = await open().visit(server, `${server.url}#token=${token}&session=${second.id}`);
    await send(page, script({ text: "My turn." }));
    await page.getByText("Waiting for the sender’s budget").waitFor();
    await screenshot(page, "waiting-for-a-budget");
    await server.api("POST", `v1/sessions/${first.id}/stop`);
    await said(page, "My turn.").waitFor();
    expect(await page.getByText("Waiting for the sender’s budget").count()).toBe(0);
  });

  it("with a background task accepts a message at once and has nothing to interrupt", async () => {
    const server = await serve();
    const { id } = await server.session({ allowed_tools: ["Bash"] });
    const page = await open().visit(server, linkTo(server, id));
    const input = { command: "sleep 600", run_in_background: true, description: "Wait" };
    await send(page, script({ tool: "Bash", input }, { text: "It runs." }));
    await said(page, "It runs.").waitFor();
    await page.locator(".work").getByText("Running in the background").waitFor();
    await page.getByText("· 1 task").waitFor();
    await page.getByRole("button", { name: "Stop", exact: true }).waitFor({ state: "hidden" });
    await composer(page).fill("hello");
    await page.getByRole("button", { name: "Send", exact: true }).waitFor();
    await screenshot(page, "in-the-background");
  });

  it("whose turn was interrupted says so once", async () => {
    const server = await serve();
    const { id } = await server.session();
    const page = await open().visit(server, linkTo(server, id));
    await send(page, script({ text: "a b c d e f g h ".repeat(200), wdelay: 0.1 }));
    await said(page, "a b c").waitFor();
    await page.getByRole("button", { name: "Stop", exact: true }).click();
    await page.getByRole("log").getByText("Interrupted", { exact: true }).waitFor();
    await page.getByTitle("Agent: Ready").waitFor();
    expect(await page.getByRole("log").getByText("Interrupted", { exact: true }).count()).toBe(1);
  });

  it("without messages explains how to write: with keys only where there are keys", async () => {
    const server = await serve();
    const { id } = await server.session();
    const desk = await open().visit(server, linkTo(server, id));
    await desk.getByText("Enter sends, Shift+Enter starts a new line").waitFor();
    const hand = await open().visit(server, linkTo(server, id), phone);
    await hand.getByText("Write below.", { exact: true }).waitFor();
    expect(await hand.getByText("Enter sends").count()).toBe(0);
  });

  it("that does not exist is reported, and has no composer", async () => {
    const server = await serve();
    const page = await open().visit(server, linkTo(server, crypto.randomUUID()));
    await page.getByRole("alert").getByText("No such session").waitFor();
    await page.getByRole("heading", { name: "No session", exact: true }).waitFor();
    expect(await composer(page).count()).toBe(0);
    expect(await page.getByText("Loading", { exact: true }).count()).toBe(0);
    expect(await page.getByRole("button", { name: "This session" }).count()).toBe(0);
    await page.getByRole("button", { name: "Close it" }).click();
    await page.getByRole("heading", { name: "Welcome to Weir" }).waitFor();
  });

  it("that needs input also says so to viewers who cannot give it", async () => {
    const server = await serve();
    const { id } = await server.session();
    await server.say(id, script({ tool: "Bash", input: { command: "mkdir a" } }, { text: "The end." }));
    const page = await openAs(open(), server, "viewer", id);
    await page.locator("[data-agent]").getByText("Needs an answer").waitFor();
    expect(await page.getByText(/wait\w* for you/).count()).toBe(0);
  });
});

describe("the conversation", () => {
  const lines = (from: string) => Array.from({ length: 60 }, (_, at) => `${from} ${at}`).join("\n\n");
  const jump = "Jump to latest";

  it("stays at its end when the browser scrolls by itself", async () => {
    const server = await serve();
    const { id } = await server.session();
    const page = await open().visit(server, linkTo(server, id));
    await send(page, script({ text: lines("one") }));
    await said(page, "one 59").waitFor();
    await server.settled(id);
    // A card closes, so the list gets more room and the browser scrolls; before that event arrives, a larger card
    // opens.
    await page.evaluate(() => {
      const list = document.querySelector<HTMLElement>("[role=log]")!;
      const dock = document.querySelector<HTMLElement>(".dock")!;
      const layOut = () => list.getBoundingClientRect();
      layOut();
      dock.style.display = "none";
      list.scrollTop = list.scrollHeight;
      dock.style.display = "";
      dock.style.paddingTop = "300px";
      layOut();
      // The timing of the scroll event is up to the browser; here it comes before the list learns its new size.
      list.dispatchEvent(new Event("scroll"));
    });
    await server.say(id, script({ text: lines("two") }));
    await said(page, "two 59").waitFor();
    const inSight = () =>
      said(page, "two 59").evaluate((end) => {
        const [line, list] = [end, end.closest("[role=log]")!].map((part) => part.getBoundingClientRect());
        return line!.bottom <= list!.bottom;
      });
    await until("the end is in sight", inSight);
    expect(await page.getByRole("button", { name: jump }).isVisible()).toBe(false);
  });

  it("stays where the user reads, until they send a message", async () => {
    const server = await serve();
    const { id } = await server.session();
    const page = await open().visit(server, linkTo(server, id));
    await send(page, script({ text: lines("one") }));
    await said(page, "one 59").waitFor();
    await server.settled(id);
    await page.getByRole("log").hover();
    await page.mouse.wheel(0, -600);
    await page.getByRole("button", { name: jump }).waitFor();
    await server.say(id, script({ text: lines("two") }));
    await server.settled(id);
    await page.getByRole("button", { name: jump }).waitFor();
    expect(await said(page, "two 59").isVisible()).toBe(false);
    await send(page, script({ text: "Three." }));
    await said(page, "Three.").waitFor();
    await page.getByRole("button", { name: jump }).waitFor({ state: "hidden" });
  });
});

describe("a refused message", () => {
  for (const [name, options] of [
    ["desktop", {}],
    ["phone", phone],
  ] as const) {
    it(`stays readable, with why and what to do, on a ${name}`, async () => {
      const server = await serve();
      const { id } = await server.session({ max_cost_usd: 0.001 });
      await server.say(id, script({ text: "One." }));
      await until("the limit is reached", async () => (await server.info(id)).status === "failed");
      const page = await open().visit(server, linkTo(server, id), options);
      await composer(page).fill("Please go on with the second part of it");
      await composer(page).press("Control+Enter");
      const row = page.getByRole("list", { name: "Queued messages" }).getByRole("listitem");
      await row.getByText(/^Not sent: .*limit of \$0\.001\b/).waitFor();
      const { width } = page.viewportSize()!;
      for (const part of [
        row.getByText("Please go on"),
        row.getByText(/^Not sent/),
        row.getByRole("button", { name: "Try again" }),
        row.getByRole("button", { name: /Discard/ }),
      ]) {
        const box = (await part.boundingBox())!;
        expect(box.width >= 16 && box.x >= 0 && box.x + box.width <= width).toBe(true);
      }
      await screenshot(page, `refused-${name}`);
      expect(await violations(page)).toEqual([]);
      await row.getByRole("button", { name: /Discard/ }).click();
      await row.waitFor({ state: "detached" });
    });
  }
});

describe("a message that the server cannot accept now", () => {
  it("is kept with the reason, and sent when it can", async () => {
    const server = await serve();
    const { id } = await server.session();
    const page = await open().visit(server, linkTo(server, id), phone);
    const detail = "the server's disk is full, and nothing of this request was stored; free space on the disk";
    const problem = { type: "about:blank", title: "Insufficient Storage", status: 507, code: "disk_full", detail };
    await page.route("**/messages", (route) =>
      route.fulfill({ status: 507, contentType: "application/problem+json", body: JSON.stringify(problem) }),
    );
    await composer(page).fill(script({ text: "There is room again." }));
    await composer(page).press("Control+Enter");
    const row = page.getByRole("list", { name: "Queued messages" }).getByRole("listitem");
    await row.getByText(`Not sent yet, trying again: ${detail}`).waitFor();
    await row.getByRole("button", { name: /Discard/ }).waitFor();
    await screenshot(page, "disk-full");
    expect(await violations(page)).toEqual([]);
    await page.unroute("**/messages");
    await said(page, "There is room again.").waitFor();
    expect(await row.count()).toBe(0);
  });
});

describe("the list of sessions", () => {
  it("shows what is hidden in a name, wherever the name appears", async () => {
    const server = await serve();
    const { id } = await server.session({ name: "Pay \u202eevil gpj.exe" });
    await server.session({ name: "שלום עולם" });
    const page = await open().visit(server, linkTo(server, id));
    const shown = "Pay ⟨U+202E⟩evil gpj.exe";
    await page.getByRole("heading", { name: shown, level: 1 }).waitFor();
    const list = page.getByRole("navigation", { name: "Sessions" });
    await list.getByText(shown).waitFor();
    await list.getByText("שלום עולם").waitFor();
    await page.getByRole("region", { name: shown }).waitFor();
    expect(await page.title()).toBe(`${shown} · Weir`);
    expect(await violations(page)).toEqual([]);
  });

  it("has pinned sessions at its top", async () => {
    const server = await serve();
    const { id } = await server.session({ name: "Old" });
    await server.session({ name: "New" });
    const page = await open().visit(server, linkTo(server, id));
    const list = page.getByRole("navigation", { name: "Sessions" });
    const names = () => list.locator(".name bdi").allInnerTexts();
    await until("both are there", async () => (await names()).join() === "New,Old");
    await page.getByRole("button", { name: "This session" }).click();
    await page.getByRole("menuitem", { name: "Pin", exact: true }).click();
    await until("it is at the top", async () => (await names()).join() === "Old,New");
    expect((await server.info(id)).pinned).toBe(true);
    await page.reload();
    await until("it is at the top", async () => (await names()).join() === "Old,New");
    expect(await violations(page)).toEqual([]);
    await page.getByRole("button", { name: "This session" }).click();
    await page.getByRole("menuitem", { name: "Unpin" }).click();
    await until("it is not pinned", async () => !(await server.info(id)).pinned);
  });
});

describe("the browser", () => {
  it("goes back to the previous session, and forward again", async () => {
    const server = await serve();
    for (const name of ["One", "Two", "Three"]) await server.session({ name });
    const page = await open().visit(server, server.link);
    const title = (name: string) => page.getByRole("heading", { name, exact: true, level: 1 });
    const list = page.getByRole("navigation").or(page.locator(".sidebar"));
    for (const name of ["One", "Two", "Three"]) {
      await list.getByText(name, { exact: true }).click();
      await title(name).waitFor();
    }
    await page.goBack();
    await title("Two").waitFor();
    await page.goBack();
    await title("One").waitFor();
    await page.goForward();
    await title("Two").waitFor();
    // The address names the session and holds no token.
    expect(page.url()).toMatch(/^[^#]+#session=[\w-]+$/);
    expect(page.url()).not.toContain(server.token);
  });

  it("shows in each of two tabs what that tab had, also after a reload", async () => {
    const server = await serve();
    const [one, two] = [await server.session({ name: "One" }), await server.session({ name: "Two" })];
    const first = await open().visit(server, linkTo(server, one.id));
    const title = (page: typeof first, name: string) => page.getByRole("heading", { name, exact: true, level: 1 });
    await title(first, "One").waitFor();
    const second = await first.context().newPage();
    await second.goto(linkTo(server, two.id));
    await title(second, "Two").waitFor();
    await first.reload();
    await title(first, "One").waitFor();
    await second.reload();
    await title(second, "Two").waitFor();
  });

  it("says at once that it is offline", async () => {
    const server = await serve();
    const { id } = await server.session();
    const page = await open().visit(server, linkTo(server, id));
    await page.getByTitle("Link to the server: connected").waitFor();
    await page.context().setOffline(true);
    await page.getByText("You are offline. What you write is kept and sent later.").waitFor();
    await page.getByTitle("Link to the server: offline").waitFor({ state: "attached" });
    await send(page, "Later");
    await page.getByRole("list", { name: "Queued messages" }).getByText("not sent yet").waitFor();
    // In one place, however many there are to say it in.
    const told = await page
      .getByText(/offline|reconnecting|cannot be reached/i)
      .evaluateAll(
        (parts) => parts.filter((part) => part.checkVisibility() && part.closest(".unseen") === null).length,
      );
    expect(told, "how often the page says that it is offline").toBe(1);
    await page.context().setOffline(false);
    await page.getByTitle("Link to the server: connected").waitFor();
    expect(await page.getByText("You are offline.").count()).toBe(0);
  });
});
