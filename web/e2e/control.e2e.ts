// Interrupting, stopping, queueing and steering: the page shows the real state.

import { describe, expect, it } from "vitest";
import { card, composer, conversation, linkTo, ready, said, screenshot, send, violations } from "./browser.ts";
import { script, until } from "./server.ts";
import { stage } from "./setup.ts";

const { serve, open } = stage();
const words = (count: number) => Array.from({ length: count }, (_, at) => `word${at}`).join(" ");
const slow = script({ text: words(600), wdelay: 0.05 });

describe("a running turn", () => {
  it("is interrupted, and the agent accepts the next message", async () => {
    const server = await serve();
    const { id } = await server.session();
    const page = await open().visit(server, linkTo(server, id));
    await send(page, slow);
    await said(page, "word9").first().waitFor();
    await page.getByRole("button", { name: "Interrupt" }).click();
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
    await page.getByRole("button", { name: "Stop", exact: true }).click();
    await page.getByText("Stopped: no process is left.").waitFor();
    expect((await server.info(id)).has_process).toBe(false);
    await until("the lamp says so", async () =>
      /stopped|failed|interrupted/.test(await page.locator("[data-agent]").innerText()),
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
    expect(await violations(page)).toEqual([]);
    await said(page, "The second answer.").waitFor();
    const messages = await server.api<{ messages: { text: string; state: string }[] }>(
      "GET",
      `v1/sessions/${id}/messages`,
    );
    expect(messages.messages.find((message) => message.text === "Never mind this one")?.state).toBe("cancelled");
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
    await page.getByRole("button", { name: "Interrupt" }).click();
    await card(page, label).waitFor({ state: "detached" });
    await until("it says so", async () => (await lines())[1] === "Run mkdir never not run");

    await send(page, bash);
    await card(page, label).waitFor();
    await page.getByRole("button", { name: "Stop", exact: true }).click();
    await card(page, label).waitFor({ state: "detached" });
    await until("it says so", async () => (await lines())[2] === "Run mkdir never not run");

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
    await page.getByLabel("Permission mode").selectOption("acceptEdits");
    await until("the mode is another", async () => (await server.info(id)).permission_mode === "acceptEdits");
    await send(
      page,
      script({ tool: "Write", input: { file_path: `${server.root}/x.txt`, content: "x" } }, { text: "Not asked." }),
    );
    await said(page, "Not asked.").waitFor();
    await page.getByLabel("Model").selectOption({ index: 1 });
    const model = await page.getByLabel("Model").inputValue();
    await until("the model is another", async () => (await server.info(id)).model === model);
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
    expect(await violations(page)).toEqual([]);
    await screenshot(page, "errors");
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
