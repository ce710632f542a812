// From the first visit to a session, its tools and what they changed.

import { describe, expect, it } from "vitest";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { composer, conversation, linkTo, said, screenshot, send, violations } from "./browser.ts";
import { script, until } from "./server.ts";
import { stage } from "./setup.ts";

const { serve, open } = stage();

describe("a first visit", () => {
  it("leads from the link to an answer, and leaves no token in the URL", async () => {
    const server = await serve();
    const page = await open().visit(server, server.link);
    await page.getByRole("heading", { name: "Welcome to Weir" }).waitFor();
    expect(page.url()).toBe(server.url);
    expect(await violations(page)).toEqual([]);
    await page.getByRole("main").getByRole("button", { name: "New session" }).click();
    expect(await violations(page)).toEqual([]);
    await page.getByLabel("First message").fill(script({ text: "Hello from the **other** side." }));
    await page.getByLabel("Name").fill("First steps");
    await page.getByRole("button", { name: "Start" }).click();
    await said(page, "Hello from the other side.").waitFor();
    await page.getByRole("heading", { name: "First steps" }).waitFor();
    expect(await conversation(page).locator("strong").innerText()).toBe("other");
    const focused = () => page.evaluate(() => document.activeElement?.getAttribute("aria-label"));
    await until("the next message can be typed", async () => (await focused()) === "Message to the agent");
    await until("the title names the session", async () => (await page.title()).includes("First steps"));
    // The token is stored: coming back needs no link.
    await page.goto(server.url);
    await said(page, "Hello from the other side.").waitFor();
    await screenshot(page, "first-visit");
  });

  it("asks for a token if there is none, and accepts the whole link too", async () => {
    const server = await serve();
    const page = await open().visit(server, server.url);
    await page.getByLabel("Token").fill("wrong");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("alert").getByText("That token is not valid. Check it, or ask for a new link.").waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByLabel("Token").fill(server.link);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { name: "Welcome to Weir" }).waitFor();
  });

  it("works below a base path", async () => {
    const server = await serve({ basePath: "/deep/weir" });
    const { id } = await server.session();
    const page = await open().visit(server, linkTo(server, id));
    await send(page, script({ text: "Below a path." }));
    await said(page, "Below a path.").waitFor();
    expect(new URL(page.url()).pathname).toBe("/deep/weir/");
  });
});

describe("a session", () => {
  it("shows thinking, text, code and tools, each in its own way", async () => {
    const server = await serve();
    const { id } = await server.session({ permission_mode: "acceptEdits", allowed_tools: ["Bash"] });
    const page = await open().visit(server, linkTo(server, id));
    await send(
      page,
      script(
        {
          thinking: "Where do I begin?",
          text: "Some code:\n\n```rust\nfn main() { let x = 1; }\n```\n\nand a list\n\n- one\n- two",
          tool: "Bash",
          input: { command: "printf '\\033[31mred\\033[0m plain\\n'", description: "print" },
        },
        { tool: "Write", input: { file_path: `${server.root}/a.txt`, content: "one\ntwo\n" } },
        { tool: "Read", input: { file_path: `${server.root}/a.txt` } },
        { text: "All done." },
      ),
    );
    await said(page, "All done.").waitFor();
    await server.settled(id);
    const thought = conversation(page).getByRole("button", { name: /Thought/ });
    expect(await thought.getAttribute("aria-expanded")).toBe("false");
    await thought.click();
    await conversation(page).locator(".thinking .body").getByText("Where do I begin?").waitFor();
    await conversation(page).locator(".hljs-keyword").first().waitFor();
    await conversation(page).getByRole("button", { name: /^Ran/ }).click();
    expect(await conversation(page).locator(".terminal .ansi-fg-1").innerText()).toBe("red");
    await conversation(page)
      .getByRole("button", { name: /^Wrote a\.txt/ })
      .click();
    await conversation(page)
      .getByRole("region", { name: /Changes in/ })
      .getByText("two")
      .waitFor();
    await conversation(page)
      .getByRole("button", { name: /^Read a\.txt/ })
      .click();
    await conversation(page).getByRole("region", { name: "File" }).getByText("one").waitFor();
    expect(await violations(page)).toEqual([]);
    await screenshot(page, "conversation");
  });

  it("never runs content from a model, a tool or a name", async () => {
    const server = await serve();
    const attack = "<img src=x onerror=\"document.title='owned'\">";
    const { id } = await server.session({
      name: `Title ${attack}`,
      permission_mode: "acceptEdits",
      allowed_tools: ["Bash"],
    });
    const page = await open().visit(server, linkTo(server, id));
    await send(
      page,
      script(
        {
          text: `${attack} <script>document.title='owned'</script> [x](javascript:document.title='owned') ![y](http://192.0.2.1/z.png)`,
          tool: "Bash",
          input: { command: `printf '%s' '${attack.replaceAll("'", "")}'`, description: attack },
        },
        {
          tool: "Write",
          input: { file_path: `${server.root}/<img src=x onerror=alert(1)>.txt`, content: attack },
        },
        { text: "Harmless." },
      ),
    );
    await said(page, "Harmless.").waitFor();
    await conversation(page).getByRole("button", { name: /^Ran/ }).click();
    await conversation(page)
      .getByRole("button", { name: /^Wrote/ })
      .click();
    expect(await page.locator("img, script:not([src])").count()).toBe(0);
    expect(await page.locator("a[href^='javascript']").count()).toBe(0);
    expect(await page.title()).not.toBe("owned");
  });

  it("shows changes, unified and side by side", async () => {
    const server = await serve();
    const { id } = await server.session({ permission_mode: "acceptEdits" });
    const page = await open().visit(server, linkTo(server, id));
    const file = `${server.root}/poem.txt`;
    await send(
      page,
      script(
        { tool: "Write", input: { file_path: file, content: "roses are red\nviolets are blue\n" } },
        { tool: "Edit", input: { file_path: file, old_string: "violets", new_string: "tulips" } },
        { text: "Changed." },
      ),
    );
    await said(page, "Changed.").waitFor();
    const details = page.getByRole("complementary", { name: "Details" });
    await details
      .getByRole("button", { name: /poem\.txt/ })
      .first()
      .waitFor();
    await details.getByText("tulips").first().waitFor();
    await details.getByRole("button", { name: "Side by side" }).click();
    await details.locator(".diff.split").first().waitFor();
    expect(await violations(page)).toEqual([]);
    await screenshot(page, "diff");
  });

  it("shows the raw log with unknown lines and the full output, and exports all of it", async () => {
    const server = await serve();
    const { id } = await server.session({ allowed_tools: ["Bash"] });
    const page = await open().visit(server, linkTo(server, id));
    await send(
      page,
      script(
        {
          tool: "Bash",
          input: { command: "seq 1 4000", description: "count" },
          misbehave: ["unknown_type", "broken_json"],
        },
        { text: "Odd things happened." },
      ),
    );
    await said(page, "Odd things happened.").waitFor();
    await conversation(page)
      .getByText(/Not understood/)
      .first()
      .waitFor();
    await conversation(page).getByRole("button", { name: /^Ran/ }).click();
    await conversation(page).getByRole("button", { name: "Show all" }).last().click();
    await conversation(page)
      .getByText(/\n2000\n/)
      .waitFor();
    // There are no changes, todos or agents, so the details are closed.
    expect(await page.getByRole("tab").count()).toBe(0);
    await page.getByRole("button", { name: "Details" }).click();
    await page.getByRole("tab", { name: /Raw/ }).click();
    const raw = page.getByRole("tabpanel");
    await raw.getByText("Unexpected lines").waitFor();
    await raw.getByLabel("Filter the lines").fill("result");
    await raw
      .getByRole("button", { name: /result/ })
      .first()
      .click();
    await raw.getByText(/"total_cost_usd"/).waitFor();
    expect(await violations(page)).toEqual([]);
    await screenshot(page, "raw");
    for (const [name, ending] of [
      ["Save as HTML", "html"],
      ["Save as Markdown", "md"],
      ["Save the raw log", "ndjson"],
    ] as const) {
      const saved = page.waitForEvent("download");
      await page.getByRole("button", { name: "This session" }).click();
      await page.getByRole("menuitem", { name }).click();
      expect((await saved).suggestedFilename()).toMatch(new RegExp(`\\.${ending}$`));
    }
  });

  it("keeps the drafts of two tabs apart", async () => {
    const server = await serve();
    const { id } = await server.session();
    const one = await open().visit(server, linkTo(server, id));
    const two = await one.context().newPage();
    await two.goto(linkTo(server, id));
    await composer(two).fill("Written in tab two");
    await send(one, script({ text: "Sent from tab one." }));
    await said(one, "Sent from tab one.").waitFor();
    await composer(one).fill("Written in tab one");
    for (const [page, text] of [
      [two, "Written in tab two"],
      [one, "Written in tab one"],
    ] as const) {
      await page.reload();
      await composer(page).waitFor();
      expect(await composer(page).inputValue()).toBe(text);
    }
  });

  it("keeps a draft over a reload, and offers the CLI's commands", async () => {
    const server = await serve();
    const { id } = await server.session();
    const page = await open().visit(server, linkTo(server, id));
    await send(page, script({ text: "Ready." }));
    await said(page, "Ready.").waitFor();
    await composer(page).fill("Not sent yet");
    await page.reload();
    await until("the draft is back", async () => (await composer(page).inputValue()) === "Not sent yet");
    await composer(page).fill("/");
    const options = page.getByRole("option");
    await options.first().waitFor();
    const name = (await options.first().innerText()).split("\n")[0];
    await composer(page).press("Tab");
    expect(await composer(page).inputValue()).toBe(`${name} `);
  });

  it("sends a pasted picture", async () => {
    const server = await serve();
    const { id } = await server.session();
    const page = await open().visit(server, linkTo(server, id));
    await composer(page).waitFor();
    await composer(page).evaluate((field) => {
      const bytes = Uint8Array.from(
        atob("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="),
        (sign) => sign.charCodeAt(0),
      );
      const data = new DataTransfer();
      data.items.add(new File([bytes], "dot.png", { type: "image/png" }));
      field.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
    });
    await page.getByRole("img", { name: "Picture 1" }).waitFor();
    await send(page, script({ text: "I see a dot." }));
    await said(page, "I see a dot.").waitFor();
    expect(await page.getByRole("group", { name: "Message" }).getByRole("img").count()).toBe(0);
    const shown = conversation(page).getByRole("button", { name: /Picture 1/ });
    await shown.click();
    expect(await shown.locator("img").evaluate((img: HTMLImageElement) => img.naturalWidth)).toBe(1);
    expect(await violations(page)).toEqual([]);
  });

  it("shows a picture that the agent looks at", async () => {
    const server = await serve();
    const file = join(server.root, "dot.png");
    writeFileSync(
      file,
      Buffer.from(
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
        "base64",
      ),
    );
    const { id } = await server.session();
    const page = await open().visit(server, linkTo(server, id));
    await send(page, script({ tool: "Read", input: { file_path: file } }, { text: "A dot." }));
    await said(page, "A dot.").waitFor();
    await conversation(page)
      .getByRole("button", { name: /dot\.png/ })
      .click();
    const shown = conversation(page).getByRole("button", { name: /Picture 1/ });
    await shown.waitFor();
    expect(await shown.locator("img").evaluate((img: HTMLImageElement) => img.naturalWidth)).toBe(1);
  });
});

describe("the details", () => {
  it("open when there are some, and have the width that the user gives them", async () => {
    const server = await serve();
    const { id } = await server.session({ permission_mode: "acceptEdits" });
    const page = await open().visit(server, linkTo(server, id), { viewport: { width: 1440, height: 900 } });
    const details = page.getByRole("complementary", { name: "Details" });
    await send(page, script({ text: "Nothing to see." }));
    await said(page, "Nothing to see.").waitFor();
    expect(await details.count()).toBe(0);
    await send(page, script({ tool: "Write", input: { file_path: "a.txt", content: "1\n" } }, { text: "Written." }));
    await details.getByText("a.txt").first().waitFor();
    const width = async () => Math.round((await details.boundingBox())!.width);
    const before = await width();
    const edge = details.getByRole("separator", { name: "Width of the details" });
    await edge.focus();
    await page.keyboard.press("ArrowLeft");
    expect(await width()).toBe(before + 24);
    const at = (await edge.boundingBox())!;
    await page.mouse.move(at.x + 3, 400);
    await page.mouse.down();
    await page.mouse.move(at.x - 97, 400, { steps: 4 });
    await page.mouse.up();
    const wide = await width();
    expect(wide).toBeGreaterThan(before + 90);
    expect(await violations(page)).toEqual([]);
    await page.reload();
    await details.waitFor();
    expect(await width()).toBe(wide);
    // Closed by the user, they stay closed.
    await page.getByRole("button", { name: "Details" }).click();
    await details.waitFor({ state: "detached" });
    await page.reload();
    await said(page, "Written.").waitFor();
    expect(await details.count()).toBe(0);
    // Where there is no room they wait to be asked for.
    const small = await open().visit(server, linkTo(server, id), { viewport: { width: 1024, height: 768 } });
    await said(small, "Written.").waitFor();
    const smallDetails = small.getByRole("complementary", { name: "Details" });
    expect(await smallDetails.count()).toBe(0);
    // There the list makes way for them, and they for the list.
    const list = small.getByRole("navigation", { name: "Sessions" });
    await list.waitFor();
    await small.getByRole("button", { name: "Details" }).click();
    await smallDetails.waitFor();
    expect(await list.count()).toBe(0);
    expect((await conversation(small).boundingBox())!.width).toBeGreaterThan(480);
    await small.getByRole("button", { name: "Sessions" }).click();
    await list.waitFor();
    expect(await smallDetails.count()).toBe(0);
    await small.getByRole("button", { name: "Details" }).click();
    await smallDetails.waitFor();
    await small.keyboard.press("Control+k");
    await list.waitFor();
    expect(await smallDetails.count()).toBe(0);
  });
});

describe("a turn", () => {
  it("folds routine calls into one line and says what is being done", async () => {
    const server = await serve();
    const { id } = await server.session({ allowed_tools: ["Bash"] });
    const page = await open().visit(server, linkTo(server, id));
    const bash = (command: string) => ({ tool: "Bash", input: { command } });
    await send(page, script(bash("echo 1"), bash("echo 2"), bash("echo 3"), bash("sleep 60"), { text: "The end." }));
    const talk = conversation(page);
    // The call that is still running is not folded.
    const run = talk.getByRole("button", { name: "Ran 3 commands" });
    await run.waitFor();
    await talk.getByRole("button", { name: /^Running sleep 60/ }).waitFor();
    const work = page.locator(".work");
    await work.getByText("Working").waitFor();
    await work.getByText(/^· [1-9]\d* s$/).waitFor();
    await work.getByText("Esc twice to interrupt").waitFor();
    await work.getByText(/tokens/).waitFor();
    expect(await talk.getByRole("button", { name: /echo 2/ }).count()).toBe(0);
    await run.click();
    await talk.getByRole("button", { name: /^Ran echo 2/ }).waitFor();
    expect(await violations(page)).toEqual([]);
    await run.click();
    await talk.getByRole("button", { name: /^Ran echo 2/ }).waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Stop", exact: true }).click();
    await work.waitFor({ state: "detached" });
  });
});

describe("a queued message", () => {
  it("stands with its reply, also after an interrupt and a reload", async () => {
    const server = await serve();
    const { id } = await server.session({ allowed_tools: ["Bash"] });
    const page = await open().visit(server, linkTo(server, id));
    const step = (text: string) => script({ text });
    await send(page, script({ text: "Begun.", tool: "Bash", input: { command: "sleep 60" } }, { text: "Never." }));
    await said(page, "Begun.").waitFor();
    await send(page, `Second ${step("To the second.")}`);
    await send(page, `Third ${step("To the third.")}`);
    await page.getByRole("list", { name: "Queued messages" }).getByText("Third").waitFor();
    await page.getByRole("button", { name: "Stop", exact: true }).click();
    await said(page, "To the third.").waitFor();
    await server.settled(id);
    const order = async () => {
      const text = (await conversation(page).innerText()).replaceAll("\n", " ");
      return ["Begun.", "Interrupted", "Second @@", "To the second.", "Third @@", "To the third."].map((part) =>
        text.lastIndexOf(part),
      );
    };
    const sorted = async () => {
      const places = await order();
      return places.every((place, at) => place >= 0 && (at === 0 || place > places[at - 1]!));
    };
    await until("each message is followed by its reply", sorted);
    await page.reload();
    await said(page, "To the third.").waitFor();
    await until("each message is followed by its reply", sorted);
  });
});
