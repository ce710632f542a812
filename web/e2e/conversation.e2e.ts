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
    await page.getByRole("heading", { name: "No sessions yet" }).waitFor();
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
    await page.getByRole("heading", { name: "No sessions yet" }).waitFor();
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
    const name = await options.first().innerText();
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
