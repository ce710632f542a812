// The connection breaks, the server dies, the reader leaves and returns: nothing is lost or duplicated.

import { describe, expect, it } from "vitest";
import { composer, conversation, linkTo, said, screenshot, send } from "./browser.ts";
import { script, until } from "./server.ts";
import { stage } from "./setup.ts";

const { serve, open } = stage();
const words = (count: number) => Array.from({ length: count }, (_, at) => `word${at}`).join(" ");

describe("the link", () => {
  it("survives a reload in the middle of a text", async () => {
    const server = await serve();
    const { id } = await server.session();
    const page = await open().visit(server, linkTo(server, id));
    await send(page, script({ text: words(80), wdelay: 0.05 }));
    await said(page, "word9 ").first().waitFor();
    await page.reload();
    await said(page, "word79").waitFor();
    await server.settled(id);
    const text = await conversation(page).locator(".said").innerText();
    expect(text.trim()).toBe(words(80));
  });

  it("comes back by itself when the server was killed in the middle of a turn", async () => {
    const server = await serve();
    const { id } = await server.session();
    const page = await open().visit(server, linkTo(server, id));
    await send(page, script({ text: "Before the fall." }));
    await said(page, "Before the fall.").waitFor();
    await server.settled(id);
    await send(page, script({ text: words(60), wdelay: 0.08 }));
    await said(page, "word35 ").first().waitFor();
    await server.kill();
    await page.getByText("What you write is kept and sent later.").waitFor();
    await screenshot(page, "link-down");
    await server.start();
    await until(
      "the link is back",
      async () => (await page.getByText("What you write is kept and sent later.").count()) === 0,
    );
    await page.getByText("A turn was running when the server was restarted.").waitFor();
    await page.getByRole("navigation", { name: "Sessions" }).getByText("Interrupted", { exact: true }).waitFor();
    await conversation(page).getByText("Weir restarted, so the agent's process ended.").waitFor();
    await screenshot(page, "after-restart");
    expect(await said(page, "Before the fall.").count()).toBe(1);
    // What was read of the reply is still there, also for those who open the session later.
    expect(await said(page, /word9 word10/).count()).toBe(1);
    await page.reload();
    await said(page, /word9 word10/).waitFor();
    // Toasts appear below the banner, even one with many lines.
    await page.getByRole("button", { name: "This session" }).click();
    await page.route("**/export*", (route) => route.fulfill({ status: 500, body: "no" }));
    await page.getByRole("menuitem", { name: "Save as HTML" }).click();
    const toast = page.locator(".toast");
    await toast.first().waitFor();
    const [above, below] = [await page.locator(".banner").last().boundingBox(), await toast.first().boundingBox()];
    expect(below!.y).toBeGreaterThanOrEqual(above!.y + above!.height);
    await page.getByRole("button", { name: "Resume" }).click({ timeout: 2000 });
    await said(page, /word59$/).waitFor();
    await server.settled(id);
    // What Weir asked to continue is not among the person's words.
    const resumed = conversation(page).getByText("Resumed by Weir after a restart");
    await resumed.waitFor();
    expect(await conversation(page).locator(".bubble").getByText("was restarted while you worked").count()).toBe(0);
    await resumed.click();
    await conversation(page).getByText("was restarted while you worked").waitFor();
    expect(await said(page, "Before the fall.").count()).toBe(1);
  });

  it("keeps messages written while the server is down, and sends them once", async () => {
    const server = await serve();
    const { id } = await server.session();
    const page = await open().visit(server, linkTo(server, id));
    await send(page, script({ text: "Before." }));
    await said(page, "Before.").waitFor();
    await server.settled(id);
    await server.kill();
    const message = script({ text: "After the fall." });
    await send(page, message);
    await page.getByRole("list", { name: "Queued messages" }).getByText("not sent yet").waitFor();
    await server.start();
    await said(page, "After the fall.").waitFor();
    await server.settled(id);
    const { messages } = await server.api<{ messages: { text: string }[] }>("GET", `v1/sessions/${id}/messages`);
    expect(messages.filter(({ text }) => text === message)).toHaveLength(1);
  });

  it("keeps messages written offline and sends them once", async () => {
    const server = await serve();
    const { id } = await server.session();
    const page = await open().visit(server, linkTo(server, id));
    await send(page, script({ text: "Online." }));
    await said(page, "Online.").waitFor();
    await page.context().setOffline(true);
    const message = script({ text: "Back again." });
    await send(page, message);
    await page.getByRole("list", { name: "Queued messages" }).getByText("not sent yet").waitFor();
    expect(await composer(page).inputValue()).toBe("");
    await page.context().setOffline(false);
    await said(page, "Back again.").waitFor();
    await server.settled(id);
    const { messages } = await server.api<{ messages: { text: string }[] }>("GET", `v1/sessions/${id}/messages`);
    expect(messages.filter(({ text }) => text === message)).toHaveLength(1);
  });

  it("shows a session to anyone with its link, and nothing else", async () => {
    const server = await serve();
    const { id } = await server.session({ name: "Shared" });
    const other = await server.session({ name: "Private" });
    const page = await open().visit(server, linkTo(server, id));
    await send(page, script({ text: "For your eyes." }));
    await said(page, "For your eyes.").waitFor();
    await page.getByRole("button", { name: "This session" }).click();
    await page.getByRole("menuitem", { name: "Share read-only link" }).click();
    await page.getByRole("button", { name: "Create link" }).dblclick();
    const link = await page.getByRole("textbox", { name: "Link" }).inputValue();
    expect(link).toContain("#token=");
    await page.getByText("Expires in a day.").waitFor();
    // However often it is pressed, one link is created.
    const { tokens } = await server.api<{ tokens: { session: string | null }[] }>("GET", "v1/tokens");
    expect(tokens.filter(({ session }) => session === id)).toHaveLength(1);
    const guest = await open().visit(server, link);
    await said(guest, "For your eyes.").waitFor();
    expect(await composer(guest).count()).toBe(0);
    expect(await guest.getByText("Private").count()).toBe(0);
    expect(guest.url()).not.toContain("token");
    await page.getByRole("button", { name: "Close", exact: true }).click();
    await send(page, script({ text: "And this, live." }));
    await said(guest, "And this, live.").waitFor();
    await screenshot(guest, "shared");
    const token = new URLSearchParams(new URL(link).hash.slice(1)).get("token") ?? "";
    await expect(server.api("GET", `v1/sessions/${other.id}`, undefined, token)).rejects.toThrow(/40[34]/);
    await expect(
      server.api("POST", `v1/sessions/${id}/messages`, { client_id: "x", text: "no" }, token),
    ).rejects.toThrow(/403/);
    // When it ends, the guest, who has no shell on the server, is told what to do, also after a reload.
    const all = await server.api<{ tokens: { id: string; session: string | null }[] }>("GET", "v1/tokens");
    const share = all.tokens.find(({ session }) => session === id)!;
    await server.api("DELETE", `v1/tokens/${share.id}`);
    const ended = guest.getByText("This shared link is no longer valid. Ask the person who shared it for a new one.");
    await ended.waitFor();
    expect(await guest.getByText("weir token").count()).toBe(0);
    await guest.reload();
    await ended.waitFor();
  });

  it("notifies when an agent needs your answer or finishes while the page is hidden", async () => {
    const server = await serve();
    const { id } = await server.session({ name: "Far away" });
    const page = await open().visit(server, linkTo(server, id), { permissions: ["notifications"] });
    await page.getByRole("button", { name: "Settings" }).click();
    await page.getByRole("menuitem", { name: "Turn on notifications" }).click();
    await page.getByText("You’ll be notified when an agent needs your answer").waitFor();
    expect(await page.evaluate(() => Notification.permission)).toBe("granted");
    // A real notification is shown; the page is only made to believe that it is hidden, and records its notifications.
    await page.evaluate(() => {
      const told: string[] = [];
      const Real = Notification;
      class Noted extends Real {
        constructor(title: string, options?: NotificationOptions) {
          super(title, options);
          told.push(`${title}: ${options?.body ?? ""}`);
          this.onshow = () => told.push(`shown: ${title}: ${options?.body ?? ""}`);
        }
      }
      Object.assign(window, { told, Notification: Noted });
      Object.defineProperty(document, "hidden", { get: () => true });
    });
    const told = () => page.evaluate(() => (window as unknown as { told: string[] }).told);
    await server.say(
      id,
      script({ tool: "Bash", input: { command: "git push origin main", description: "Push" } }, { text: "Pushed." }),
    );
    await until("it is shown that the agent waits", async () =>
      (await told()).some((line) => line.startsWith("shown: An agent needs your answer")),
    );
    const times = async (what: string) => (await told()).filter((line) => line.startsWith(what)).length;
    expect(await page.title()).toMatch(/^\(1\)/);
    await page.getByRole("button", { name: "Allow once" }).click();
    await until("the agent is reported as done", async () =>
      (await told()).some((line) => line.includes("An agent is done")),
    );
    expect((await told()).every((line) => line.includes("Far away"))).toBe(true);
    expect(await times("An agent needs your answer"), "it is told once").toBe(1);
    expect(await times("An agent is done"), "it is told once").toBe(1);
    // Work in the background does not hold it back.
    const input = { command: "sleep 600", run_in_background: true, description: "Wait" };
    await server.say(id, script({ tool: "Bash", input }, { text: "It runs." }));
    await until("it is reported again", async () => (await times("An agent is done")) === 2);
    expect((await server.info(id)).background).toBe(true);
  });

  it("shows several sessions side by side", async () => {
    const server = await serve();
    const one = await server.session({ name: "Left one" });
    const two = await server.session({ name: "Right one" });
    await server.say(one.id, script({ text: "On the left." }));
    await server.say(two.id, script({ text: "On the right." }));
    const page = await open().visit(server, linkTo(server, one.id));
    await said(page, "On the left.").waitFor();
    await page
      .getByRole("navigation", { name: "Sessions" })
      .getByText("Right one")
      .click({ modifiers: ["Control"] });
    await page.locator(".said").getByText("On the right.").waitFor();
    await page.locator(".said").getByText("On the left.").waitFor();
    await screenshot(page, "side-by-side");
    await page.reload();
    await page.locator(".said").getByText("On the right.").waitFor();
    await page.locator(".said").getByText("On the left.").waitFor();
  });
});
