// Requests of the agent, and who answers them.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { conversation, linkTo, ready, said, screenshot, send, violations } from "./browser.ts";
import { script, until } from "./server.ts";
import { stage } from "./setup.ts";

const { serve, open } = stage();
const write = (name: string) => ({
  tool: "Bash",
  input: { command: `echo original > ${name}`, description: "write a file" },
});

describe("a permission", () => {
  it("is allowed once, with a key", async () => {
    const server = await serve();
    const { id } = await server.session();
    const page = await open().visit(server, linkTo(server, id));
    await send(page, script(write("a.txt"), { text: "It is there." }));
    const card = page.getByRole("group", { name: "Permission for Bash" });
    await card.getByText("echo original > a.txt").waitFor();
    expect(existsSync(join(server.root, "a.txt"))).toBe(false);
    await until("the title shows that input is needed", async () => (await page.title()).startsWith("(1)"));
    expect(await violations(page)).toEqual([]);
    await screenshot(page, "permission");
    await conversation(page).focus();
    await page.keyboard.press("r");
    await ready(page, "Permission for Bash");
    await page.keyboard.press("a");
    await said(page, "It is there.").waitFor();
    expect(readFileSync(join(server.root, "a.txt"), "utf8")).toBe("original\n");
    await card.waitFor({ state: "detached" });
  });

  it("is denied with a reason that the agent receives", async () => {
    const server = await serve();
    const { id } = await server.session();
    const page = await open().visit(server, linkTo(server, id));
    await send(page, script(write("b.txt"), { text: "Then not." }));
    const card = page.getByRole("group", { name: "Permission for Bash" });
    await card.getByRole("button", { name: "Deny…" }).click();
    await card.getByLabel(/What should it do instead/).fill("Use another file.");
    await card.getByRole("button", { name: "Deny" }).click();
    await said(page, "Then not.").waitFor();
    expect(existsSync(join(server.root, "b.txt"))).toBe(false);
    await conversation(page)
      .getByText(/^denied/)
      .waitFor();
    await conversation(page)
      .getByRole("button", { name: /echo original > b.txt/ })
      .click();
    await conversation(page).getByText("Use another file.").first().waitFor();
  });

  it("is allowed with another input", async () => {
    const server = await serve();
    const { id } = await server.session();
    const page = await open().visit(server, linkTo(server, id));
    await send(page, script(write("c.txt"), { text: "Edited." }));
    const card = page.getByRole("group", { name: "Permission for Bash" });
    await card.getByRole("button", { name: "Edit" }).click();
    await card.getByLabel("Command").last().fill("echo edited > c.txt");
    await card.getByRole("button", { name: "Allow as edited" }).click();
    await said(page, "Edited.").waitFor();
    expect(readFileSync(join(server.root, "c.txt"), "utf8")).toBe("edited\n");
  });

  it("is granted for the session by the rule that the CLI suggests", async () => {
    const server = await serve();
    const { id } = await server.session();
    const page = await open().visit(server, linkTo(server, id));
    await send(
      page,
      script({ tool: "Write", input: { file_path: join(server.root, "d.txt"), content: "1" } }, { text: "Once." }),
    );
    await page.getByRole("button", { name: "Always allow…" }).click();
    await page.getByRole("menuitem", { name: /Accept all edits/ }).click();
    await said(page, "Once.").waitFor();
    await send(
      page,
      script({ tool: "Write", input: { file_path: join(server.root, "e.txt"), content: "2" } }, { text: "Twice." }),
    );
    await said(page, "Twice.").waitFor();
    expect(readFileSync(join(server.root, "e.txt"), "utf8")).toBe("2");
  });

  it("is answered by the first of two people, and the other learns who it was", async () => {
    const server = await serve();
    const { id } = await server.session();
    const made = await server.api<{ token: string }>("POST", "v1/tokens", { name: "berta", role: "approver" });
    const anna = await open().visit(server, linkTo(server, id));
    const berta = await open().visit(server, `${server.url}#token=${made.token}&session=${id}`);
    await send(anna, script(write("f.txt"), { text: "Decided." }));
    const [hers, mine] = [berta, anna].map((page) => page.getByRole("group", { name: "Permission for Bash" }));
    await hers?.waitFor();
    await mine?.waitFor();
    await hers?.getByRole("button", { name: "Allow once" }).click();
    await anna.getByText("Bash: answered by berta.").waitFor();
    await mine?.waitFor({ state: "detached" });
    await said(anna, "Decided.").waitFor();
    await anna
      .getByRole("button", { name: "Dismiss" })
      .click({ timeout: 2000 })
      .catch(() => undefined);
    // Both at once: one of them is told that the other was first.
    await send(anna, script(write("g.txt"), { text: "Decided again." }));
    const both = [berta, anna].map((page) =>
      page.getByRole("group", { name: "Permission for Bash" }).getByRole("button", { name: "Allow once" }),
    );
    for (const page of [berta, anna]) await ready(page, "Permission for Bash");
    await Promise.all([
      ...both.map((button) => button.click({ force: true, timeout: 5000 }).catch(() => undefined)),
      // Toasts disappear after a while, so look from the start.
      Promise.any(
        [anna, berta].map((page) =>
          page
            .getByText(/answered by/i)
            .last()
            .waitFor(),
        ),
      ),
    ]);
    await said(anna, "Decided again.").waitFor();
    // An approver has no composer.
    expect(await berta.getByLabel("Message to the agent").count()).toBe(0);
  });

  it("survives a reload, and several wait at once", async () => {
    const server = await serve();
    const { id } = await server.session();
    const page = await open().visit(server, linkTo(server, id));
    await send(page, script({ tools: [write("h.txt"), write("i.txt")] }, { text: "Both." }));
    const cards = page.getByRole("group", { name: "Permission for Bash" });
    await cards.first().waitFor();
    await page.reload();
    await cards.first().waitFor();
    // A card closes when it is answered, so each check and each click may come too late.
    await until("all are answered", async () => {
      if ((await cards.count()) > 0)
        await cards
          .first()
          .getByRole("button", { name: "Allow once" })
          .click({ timeout: 1000 })
          .catch(() => undefined);
      return (await said(page, "Both.").count()) > 0;
    });
    expect(existsSync(join(server.root, "h.txt")) && existsSync(join(server.root, "i.txt"))).toBe(true);
  });
});

describe("a question", () => {
  const questions = [
    {
      question: "Which colour?",
      header: "Colour",
      options: [{ label: "Red", description: "like a rose" }, { label: "Blue" }],
      multiSelect: false,
    },
    {
      question: "Which fruits?",
      header: "Fruit",
      options: [{ label: "Apple" }, { label: "Pear" }],
      multiSelect: true,
    },
  ];

  it("is answered with one choice, several, and free text", async () => {
    const server = await serve();
    const { id } = await server.session();
    const page = await open().visit(server, linkTo(server, id));
    await send(page, script({ tool: "AskUserQuestion", input: { questions } }, { text: "Thank you." }));
    const card = page.getByRole("group", { name: "Question" });
    await card.waitFor();
    expect(await violations(page)).toEqual([]);
    await screenshot(page, "question");
    const answer = card.getByRole("button", { name: "Answer" });
    expect(await answer.isDisabled()).toBe(true);
    await conversation(page).focus();
    await page.keyboard.press("r");
    await ready(page, "Question");
    await page.keyboard.press("2");
    await card.getByLabel("Pear").check();
    await card.getByRole("checkbox", { name: "Other" }).check();
    await card.getByLabel(/Other answer/).fill("Quince");
    await answer.click();
    await said(page, "Thank you.").waitFor();
    await conversation(page)
      .getByRole("button", { name: /^Asked/ })
      .click();
    await conversation(page).locator(".chosen", { hasText: "Blue" }).waitFor();
    await conversation(page).locator(".chosen", { hasText: "Pear" }).waitFor();
  });
});

describe("a plan", () => {
  it("is approved", async () => {
    const server = await serve();
    const { id } = await server.session({ permission_mode: "plan" });
    const page = await open().visit(server, linkTo(server, id));
    await send(page, script({ tool: "ExitPlanMode", input: { plan: "# The plan\n\n1. Do it." } }, { text: "On it." }));
    const card = page.getByRole("group", { name: "Plan" });
    await card.getByText("Do it.").waitFor();
    expect(await violations(page)).toEqual([]);
    await screenshot(page, "plan");
    await card.getByRole("button", { name: /Approve, ask/ }).click();
    await said(page, "On it.").waitFor();
  });
});
