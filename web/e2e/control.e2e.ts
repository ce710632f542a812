// Interrupting, stopping, queueing and steering: the page shows the real state.

import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { card, composer, conversation, linkTo, PHONE, ready, said, screenshot, send, violations } from "./browser.ts";
import { script, until } from "./server.ts";
import { stage } from "./setup.ts";

const { serve, open } = stage();
const phone = { viewport: PHONE, hasTouch: true, isMobile: true };
const words = (count: number) => Array.from({ length: count }, (_, at) => `word${at}`).join(" ");
const slow = script({ text: words(600), wdelay: 0.05 });

async function endProcess(page: Page): Promise<void> {
  await page.getByRole("button", { name: "This session" }).click();
  await page.getByRole("menuitem", { name: /^End the process/ }).click();
}

describe("a running turn", () => {
  it("is interrupted, and the agent accepts the next message", async () => {
    const server = await serve();
    const { id } = await server.session();
    const page = await open().visit(server, linkTo(server, id));
    await send(page, slow);
    await said(page, "word9").first().waitFor();
    await page.getByRole("button", { name: "Stop", exact: true }).click();
    await conversation(page).getByText("Interrupted").first().waitFor();
    await until("it is idle and alive", async () => {
      const info = await server.info(id);
      return info.status !== "running" && info.has_process;
    });
    await send(page, script({ text: "Still here." }));
    await said(page, "Still here.").waitFor();
    expect(await said(page, "word599").count()).toBe(0);
  });

  it("is interrupted by Escape twice, for as long as the page says so", async () => {
    const server = await serve();
    const { id } = await server.session();
    const page = await open().visit(server, linkTo(server, id));
    await send(page, slow);
    await said(page, "word9").first().waitFor();
    const hint = page.getByText("Press Escape again to interrupt.");
    await composer(page).press("Escape");
    await hint.waitFor();
    await hint.waitFor({ state: "detached" });
    // Too late: the hint is shown again, once.
    await composer(page).press("Escape");
    await hint.waitFor();
    expect(await hint.count()).toBe(1);
    expect((await server.info(id)).status).toBe("running");
    await composer(page).press("Escape");
    await hint.waitFor({ state: "detached", timeout: 1000 });
    await conversation(page).getByText("Interrupted").first().waitFor();
    await server.settled(id);
    // The hint disappears with the turn.
    // In other words, because those of the interrupted turn stay.
    await send(page, script({ text: words(80).replaceAll("word", "other"), wdelay: 0.05 }));
    await said(page, "other3").first().waitFor();
    await composer(page).press("Escape");
    await hint.waitFor();
    await server.settled(id);
    await hint.waitFor({ state: "detached", timeout: 1000 });
  });

  it("is stopped, and stopped means that no process is left", async () => {
    const server = await serve();
    const { id } = await server.session();
    const page = await open().visit(server, linkTo(server, id));
    await send(page, slow);
    await said(page, "word9").first().waitFor();
    await endProcess(page);
    await page.getByText("Stopped: no process is left.").waitFor();
    expect((await server.info(id)).has_process).toBe(false);
    await until("the lamp says so", async () =>
      /Stopped|Failed|Interrupted/.test(await page.locator("[data-agent]").innerText()),
    );
    // A toast covers no controls, and does not outlive what it says.
    for (const name of ["This session", "Details"]) {
      await page.getByRole("button", { name, exact: true }).click({ trial: true, timeout: 1000 });
    }
    await send(page, script({ text: "Started again.", wdelay: 0.3 }));
    await until("there is a process", async () => (await server.info(id)).has_process);
    await page.getByText("Stopped: no process is left.").waitFor({ state: "detached", timeout: 2000 });
    await said(page, "Started again.").waitFor();
  });

  it("accepts messages that queue, that steer, and that are cancelled", async () => {
    const server = await serve();
    const { id } = await server.session();
    const page = await open().visit(server, linkTo(server, id));
    await send(page, script({ text: words(150), wdelay: 0.1 }));
    await said(page, "word5").first().waitFor();
    await send(page, script({ text: "The second answer." }));
    await send(page, "Never mind this one");
    const waiting = page.getByRole("list", { name: "Queued messages" });
    await waiting.getByText("Never mind this one").waitFor();
    await screenshot(page, "queue");
    await waiting.getByRole("button", { name: /Cancel: Never mind/ }).click();
    await until("it is gone", async () => (await waiting.getByText("Never mind this one").count()) === 0);
    await conversation(page)
      .getByText(/^cancelled/)
      .waitFor();
    await composer(page).fill("Steer a little");
    await composer(page).press("Control+Enter");
    await conversation(page).getByText("Steer a little").waitFor();
    // The same without a Ctrl key.
    await composer(page).fill("And a little more");
    await page.getByRole("button", { name: "More ways to send" }).click();
    await page.getByRole("menuitem", { name: /^Send into this turn/ }).click();
    await conversation(page).getByText("And a little more").waitFor();
    expect(await composer(page).inputValue()).toBe("");
    expect(await violations(page)).toEqual([]);
    await said(page, "The second answer.").waitFor();
    const messages = await server.api<{ messages: { text: string; state: string }[] }>(
      "GET",
      `v1/sessions/${id}/messages`,
    );
    expect(messages.messages.find((message) => message.text === "Never mind this one")?.state).toBe("cancelled");
  });

  it("lets what waits be changed and sent in another order, with the keyboard too", async () => {
    const server = await serve();
    const { id } = await server.session();
    const page = await open().visit(server, linkTo(server, id));
    await send(page, slow);
    await said(page, "word5").first().waitFor();
    for (const text of ["First", "Second", "Third"]) await send(page, `${text} ${script({ text: `To the ${text}.` })}`);
    const waiting = page.getByRole("list", { name: "Queued messages" });
    const order = async () => (await waiting.getByRole("listitem").allInnerTexts()).map((row) => row.split(" ")[0]);
    await until("all wait", async () => (await order()).length === 3);
    await waiting.getByRole("button", { name: /^Move up: Third/ }).press("Enter");
    await until("it has moved", async () => (await order()).join() === "First,Third,Second");
    // The focus moves along, so that it can be pressed again.
    await until("the focus is on it", async () =>
      waiting.getByRole("button", { name: /^Move up: Third/ }).evaluate((button) => button === document.activeElement),
    );
    await page.keyboard.press("Enter");
    await until("it is the next one", async () => (await order()).join() === "Third,First,Second");
    expect(await waiting.getByRole("button", { name: /^Move up: Third/ }).count()).toBe(0);
    // Escape changes nothing, Enter does.
    await waiting.getByRole("button", { name: /^Edit: First/ }).click();
    const field = waiting.getByRole("textbox", { name: "Queued message" });
    await field.fill("Never");
    await field.press("Escape");
    await field.waitFor({ state: "detached" });
    expect(await order()).toEqual(["Third", "First", "Second"]);
    await waiting.getByRole("button", { name: /^Edit: First/ }).click();
    await field.fill(`Changed ${script({ text: "To the changed one." })}`);
    expect(await violations(page)).toEqual([]);
    await field.press("Enter");
    await until("it is changed", async () => (await order()).join() === "Third,Changed,Second");
    await waiting.getByRole("button", { name: /^Edit: Second/ }).click();
    await waiting.getByRole("button", { name: "Cancel", exact: true }).click();
    await waiting.getByRole("button", { name: /^Edit: Second/ }).click();
    await field.fill("Being typed while it is sent");
    // What was typed into a message that is sent meanwhile comes back.
    await page.getByRole("button", { name: "Stop", exact: true }).click();
    await said(page, "To the changed one.").waitFor();
    await page.getByText("That message was sent meanwhile.").waitFor();
    expect(await composer(page).inputValue()).toBe("Being typed while it is sent");
    await said(page, "To the Second.").waitFor();
    const replies = await conversation(page).locator(".said").allInnerTexts();
    expect(replies.slice(-3).map((text) => text.trim())).toEqual([
      "To the Third.",
      "To the changed one.",
      "To the Second.",
    ]);
  });

  it("gives a cancelled message back", async () => {
    const server = await serve();
    const { id } = await server.session();
    const page = await open().visit(server, linkTo(server, id), phone);
    await composer(page).fill(slow);
    await page.getByRole("button", { name: "Send", exact: true }).click();
    await said(page, "word5").first().waitFor();
    await server.say(id, "What was meant for later");
    await page.getByRole("button", { name: /^Cancel: What was meant/ }).click();
    await conversation(page).getByText("Write again").click();
    expect(await composer(page).inputValue()).toBe("What was meant for later");
  });
});

describe("the composer", () => {
  it("calls back earlier messages, finds commands and sets the effort", async () => {
    const server = await serve();
    const { id } = await server.session();
    const page = await open().visit(server, linkTo(server, id));
    const [one, two] = [script({ text: "One." }), script({ text: "Two." })];
    await send(page, one);
    await said(page, "One.").waitFor();
    await send(page, two);
    await said(page, "Two.").waitFor();
    const field = composer(page);
    await field.press("ArrowUp");
    expect(await field.inputValue()).toBe(two);
    await field.press("ArrowUp");
    expect(await field.inputValue()).toBe(one);
    await field.press("ArrowUp");
    expect(await field.inputValue()).toBe(one);
    await field.press("ArrowDown");
    await field.press("ArrowDown");
    expect(await field.inputValue()).toBe("");
    // In a text of one's own the arrows stay arrows.
    await field.fill("mine");
    await field.press("ArrowUp");
    expect(await field.inputValue()).toBe("mine");
    await field.fill("/ctx");
    const commands = page.getByRole("listbox", { name: "Slash commands" });
    await commands.getByRole("option", { name: /\/context.*fills the context/ }).waitFor();
    expect(await violations(page)).toEqual([]);
    await field.press("Enter");
    expect(await field.inputValue()).toBe("/context ");
    await field.fill("");
    await page.getByRole("button", { name: /^Effort/ }).click();
    await page.getByRole("menuitemradio", { name: /^High/ }).click();
    await page.getByRole("button", { name: "Effort: High" }).waitFor();
    expect((await server.info(id)).effort).toBe("high");
    await page.getByRole("button", { name: "Effort: High" }).click();
    await page.getByRole("menuitemradio", { name: /^Default effort/ }).click();
    await until("it is the default", async () => (await server.info(id)).effort == null);
  });
});

describe("a call that never ran", () => {
  const bash = script({ tool: "Bash", input: { command: "mkdir never" } }, { text: "The end." });
  const label = "Permission for Bash";

  it("is not shown as run: denied, interrupted, stopped, killed", async () => {
    const server = await serve();
    const { id } = await server.session();
    const page = await open().visit(server, linkTo(server, id));
    const line = conversation(page).getByRole("button", { name: /mkdir never/ });
    const lines = async () =>
      (await line.allInnerTexts()).map((text) => text.replace(/\s+/g, " ").replace(/ \d+(\.\d)? s$/, ""));

    await send(page, bash);
    for (const name of ["Deny…", "Deny"]) {
      await ready(page, label);
      await card(page, label).getByRole("button", { name }).click();
    }
    await said(page, "The end.").waitFor();
    expect(await lines()).toEqual(["Run mkdir never denied by anna"]);

    await send(page, bash);
    await card(page, label).waitFor();
    await page.getByRole("button", { name: "Stop", exact: true }).click();
    await card(page, label).waitFor({ state: "detached" });
    await until("it says so", async () => (await lines())[1] === "Run mkdir never not run");

    await send(page, bash);
    await card(page, label).waitFor();
    await endProcess(page);
    await card(page, label).waitFor({ state: "detached" });
    await until("it says so", async () => (await lines())[2] === "Run mkdir never not run");
    // A message that arrives before the end of the stop is cancelled by it.
    await page.getByText("Stopped: no process is left.").waitFor();

    await send(page, bash);
    await card(page, label).waitFor();
    await server.kill();
    await server.start();
    await until("it says so", async () => (await lines())[3] === "Run mkdir never not run");
    await screenshot(page, "never-ran");
  });
});

describe("a session", () => {
  it("changes its model and mode", async () => {
    const server = await serve();
    const { id } = await server.session();
    const page = await open().visit(server, linkTo(server, id));
    await page.getByRole("button", { name: /^Permission mode:/ }).click();
    await page.getByRole("menuitemradio", { name: /^Accept edits/ }).click();
    await until("the mode is another", async () => (await server.info(id)).permission_mode === "acceptEdits");
    await send(
      page,
      script({ tool: "Write", input: { file_path: `${server.root}/x.txt`, content: "x" } }, { text: "Not asked." }),
    );
    await said(page, "Not asked.").waitFor();
    // With the keyboard: the menu opens on what is chosen.
    await page.getByRole("button", { name: /^Model:/ }).press("Enter");
    await page.getByRole("menu", { name: "Model" }).waitFor();
    await page.keyboard.press("End");
    const model = (await page.locator("[role=menuitemradio]:focus").innerText()).trim();
    await page.keyboard.press("Enter");
    await until("the model is another", async () => (await server.info(id)).model === model);
  });

  it("that has reached its limit continues when the limit is raised", async () => {
    const server = await serve();
    const { id } = await server.session({ max_cost_usd: 0.0001 });
    const page = await open().visit(server, linkTo(server, id));
    await send(page, script({ text: "One." }));
    await said(page, "One.").waitFor();
    await until("its cost is known", async () => {
      const info = await server.info(id);
      return (info.cost_usd ?? 0) > 0 && !["running", "starting"].includes(info.status);
    });
    await send(page, script({ text: "Two." }));
    const refused = page.getByRole("list", { name: "Queued messages" });
    await refused.getByText(/Not sent: .*which is its limit/).waitFor();
    await page.getByRole("button", { name: "This session" }).click();
    await page.getByRole("menuitem", { name: "Limits…" }).click();
    const dialog = page.getByRole("dialog", { name: "Limits" });
    const dollars = dialog.getByLabel("Dollars for the whole session");
    expect(await dollars.inputValue()).toBe("0.0001");
    await dollars.fill("2");
    expect(await violations(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Save" }).click();
    await page.getByText("The new limits apply from the next turn on.").waitFor();
    await refused.getByRole("button", { name: "Try again" }).click();
    await said(page, "Two.").waitFor();
    // It can also be removed, from the usage, and others can be set.
    await page.getByRole("button", { name: "Details", exact: true }).click();
    await page.getByRole("tab", { name: "Usage" }).click();
    await page.getByRole("tabpanel").getByText("Limits: $2.00.").waitFor();
    await page.getByRole("button", { name: "Limits…" }).click();
    await dollars.fill("");
    await dialog.getByLabel("Calls of the model in a turn").fill("40");
    await dialog.getByLabel("Minutes to answer a request").fill("1.5");
    await dialog.getByLabel("Tokens for a task").fill("50000");
    // What was typed survives a closed dialog.
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Limits…" }).click();
    expect(await dialog.getByLabel("Calls of the model in a turn").inputValue()).toBe("40");
    await dialog.getByRole("button", { name: "Save" }).click();
    await page.getByRole("tabpanel").getByText("Limits: 40 calls in a turn").waitFor();
    const info = await server.info(id);
    expect([info.max_cost_usd, info.max_turns, info.ask_timeout_s, info.task_budget_tokens]).toEqual([
      null,
      40,
      90,
      50_000,
    ]);
    // Cancel changes nothing.
    await page.getByRole("button", { name: "Limits…" }).click();
    await dialog.getByLabel("Tokens for a task").fill("1");
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await dialog.waitFor({ state: "detached" });
    expect((await server.info(id)).task_budget_tokens).toBe(50_000);
  });

  it("sends a message that was written during a stop to the next process", async () => {
    const server = await serve();
    const { id } = await server.session();
    const page = await open().visit(server, linkTo(server, id));
    await send(page, script({ text: "one two", wdelay: 60, misbehave: ["ignore_interrupt", "ignore_eof"] }));
    await said(page, "one").waitFor();
    await endProcess(page);
    await until("it is being stopped", async () => (await server.info(id)).status === "stopping");
    await send(page, script({ text: "Said afterwards." }));
    await said(page, "Said afterwards.").waitFor();
  });

  it("says what went wrong and what to do about it", async () => {
    const server = await serve({ env: { CLAUDE_CODE_MAX_RETRIES: "1" } });
    const { id } = await server.session();
    const page = await open().visit(server, linkTo(server, id));
    await send(page, script({ status: 529, etype: "overloaded_error", msg: "Overloaded" }));
    await conversation(page).getByText("The API is overloaded. Try again in a moment.").first().waitFor();
    await send(page, script({ text: "Slower now.", misbehave: { rate_limit: 3600 } }));
    await page
      .getByRole("timer")
      .getByText(/Rate limit reached, resets in \d+:\d\d/)
      .waitFor();
    // The banner counts down; the transcript only says it.
    expect(await page.getByText(/resets in/).count()).toBe(1);
    expect(await violations(page)).toEqual([]);
    await screenshot(page, "errors");
  });

  it("calls a sign-in problem one while the API is tried again, and tells it once", async () => {
    // The waits between attempts are seconds, so that a slow machine shows one of them before the last has failed.
    const server = await serve({ env: { CLAUDE_CODE_MAX_RETRIES: "3", SIMULATED_CLAUDE_RETRY_SCALE: "2" } });
    const { id } = await server.session();
    const page = await open().visit(server, linkTo(server, id));
    await send(page, script({ status: 401, etype: "authentication_error", msg: "invalid x-api-key" }));
    const talk = conversation(page);
    await talk.getByText(/^Sign-in problem \(401\): attempt [123] of 3/).waitFor();
    expect(await talk.getByText(/attempt \d/).count(), "attempts count in one line").toBe(1);
    await talk.getByRole("alert").getByText("The CLI could not log in.").waitFor();
    expect(await talk.getByText("The CLI could not log in.").count()).toBe(1);
    expect(await talk.getByText(/attempt \d/).count(), "the error is what counts").toBe(0);
  });
});

describe("sub-agents", () => {
  it("work in parallel, each in a group of its own", async () => {
    const server = await serve();
    const { id } = await server.session({ permission_mode: "acceptEdits", allowed_tools: ["Bash"] });
    const page = await open().visit(server, linkTo(server, id));
    const agent = (name: string) => ({
      tool: "Task",
      input: {
        description: `Look at ${name}`,
        subagent_type: "general-purpose",
        run_in_background: false,
        prompt: script(
          { tool: "Bash", input: { command: `echo from ${name}`, description: "say" } },
          { text: `${name} is fine.` },
        ),
      },
    });
    await send(page, script({ tools: [agent("north"), agent("south")] }, { text: "Both have reported." }));
    await said(page, "Both have reported.").waitFor();
    for (const name of ["north", "south"]) {
      const group = conversation(page).locator(".agent", { hasText: `Look at ${name}` });
      await group.getByRole("button", { name: new RegExp(`Look at ${name}`) }).click();
      await group.getByRole("button", { name: new RegExp(`echo from ${name}`) }).waitFor();
      const other = name === "north" ? "south" : "north";
      expect(await group.getByRole("button", { name: new RegExp(`echo from ${other}`) }).count()).toBe(0);
    }
    await page.getByRole("tab", { name: /Agents/ }).click();
    await page.getByRole("tabpanel").getByText("Look at north").waitFor();
    expect(await violations(page)).toEqual([]);
    await screenshot(page, "sub-agents");
  });

  it("work in the background while the session continues", async () => {
    const server = await serve();
    const { id } = await server.session({ permission_mode: "acceptEdits", allowed_tools: ["Bash"] });
    const page = await open().visit(server, linkTo(server, id));
    const prompt = script(
      { tool: "Bash", input: { command: "sleep 2; echo slept", description: "sleep" } },
      { text: "Slept well." },
    );
    await send(
      page,
      script(
        {
          tool: "Task",
          input: {
            description: "Sleep a little",
            subagent_type: "general-purpose",
            run_in_background: true,
            prompt,
          },
        },
        { text: "It sleeps in the background." },
      ),
    );
    await said(page, "It sleeps in the background.").waitFor();
    const group = conversation(page).locator(".agent", { hasText: "Sleep a little" });
    await group.getByText("in the background").first().waitFor();
    await page.getByRole("tab", { name: /Agents/ }).click();
    await page.getByRole("tabpanel").getByText("done").waitFor();
    // It is done, and no longer in the background.
    await group.getByText("done", { exact: true }).waitFor();
    expect(await group.getByText("in the background", { exact: true }).count()).toBe(0);
  });

  it("and tasks have a clock, their output and a way to the transcript", async () => {
    const server = await serve();
    const { id } = await server.session({ allowed_tools: ["Bash"] });
    const page = await open().visit(server, linkTo(server, id));
    const prompt = script(
      { tool: "Bash", input: { command: "echo mill", description: "say" } },
      { text: "The mill runs." },
    );
    const agent = {
      description: "Look at the mill",
      subagent_type: "general-purpose",
      run_in_background: false,
      prompt,
    };
    const wait = { command: "sleep 600", run_in_background: true, description: "Serve the site" };
    await send(page, script({ tool: "Task", input: agent }, { tool: "Bash", input: wait }, { text: "It runs." }));
    await said(page, "It runs.").waitFor();
    await page.getByRole("tab", { name: /Agents/ }).click();
    const panel = page.getByRole("tabpanel");
    const task = panel.getByRole("listitem").filter({ hasText: "Serve the site" });
    const shown = async () => Number(/(\d+) s/.exec(await task.locator(".clock").innerText())?.[1] ?? -1);
    const first = await shown();
    expect(first).toBeGreaterThanOrEqual(0);
    await until("the clock runs", async () => (await shown()) > first);
    await task.getByText("Output", { exact: true }).click();
    await task.getByLabel("Output of Serve the site").waitFor();
    const done = panel.getByRole("listitem").filter({ hasText: "Look at the mill" });
    await done.getByText("Output", { exact: true }).click();
    await done.getByText("The mill runs.").waitFor();
    expect(await violations(page)).toEqual([]);
    await done.getByRole("button", { name: "Look at the mill" }).click();
    await page.locator(".marked", { hasText: "Look at the mill" }).waitFor();
    await task.getByRole("button", { name: "Stop Serve the site" }).click();
    await task.waitFor({ state: "detached" });
  });

  it("are stopped one by one, and the session stays", async () => {
    const server = await serve();
    const { id } = await server.session({ allowed_tools: ["Bash"] });
    const page = await open().visit(server, linkTo(server, id));
    const agent = (name: string) => ({
      tool: "Task",
      input: {
        description: `Wait for ${name}`,
        subagent_type: "general-purpose",
        run_in_background: true,
        prompt: script({ tool: "Bash", input: { command: "sleep 300", description: "wait" } }, { text: "Never." }),
      },
    });
    await send(page, script({ tools: [agent("north"), agent("south")] }, { text: "Both wait." }));
    await said(page, "Both wait.").waitFor();
    await page.getByRole("tab", { name: /Agents/ }).click();
    const panel = page.getByRole("tabpanel");
    await panel.getByRole("button", { name: "Stop Wait for north" }).click();
    await panel.getByText("stopped").waitFor();
    await panel.getByRole("button", { name: "Stop Wait for south" }).waitFor();
    expect(await panel.getByRole("button", { name: "Stop Wait for north" }).count()).toBe(0);
    await send(page, script({ text: "Still here." }));
    await said(page, "Still here.").waitFor();
  });
});
