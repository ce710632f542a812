// Reviews of what git sees in a session's folder.

import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { linkTo, openAs, PHONE, violations } from "./browser.ts";
import { until, type WeirServer } from "./server.ts";
import { stage } from "./setup.ts";

const { serve, open } = stage();

function git(folder: string, ...args: string[]): string {
  const env = { PATH: process.env["PATH"], GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" };
  return execFileSync("git", args, { cwd: folder, env, encoding: "utf8" });
}

/** Makes the server's root a repository with a file of numbered lines. */
function repository(server: WeirServer, lines: number): string {
  const file = join(server.root, "a.txt");
  writeFileSync(file, Array.from({ length: lines }, (_, at) => `line ${at + 1}\n`).join(""));
  git(server.root, "init", "-q", "-b", "main");
  git(server.root, "config", "user.name", "Ann");
  git(server.root, "config", "user.email", "ann@example.org");
  git(server.root, "add", "-A");
  git(server.root, "commit", "-qm", "Begin");
  return file;
}

async function openChanges(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Details", exact: true }).click();
  await page.getByRole("tab", { name: /Changes/ }).click();
}

describe("a review", () => {
  for (const [name, viewport] of [
    ["desktop", { width: 1400, height: 900 }],
    ["phone", PHONE],
  ] as const) {
    it(`shows what git sees, sends comments, stages, commits and reverts, on a ${name}`, async () => {
      const server = await serve();
      const file = repository(server, 20);
      writeFileSync(file, readFileSync(file, "utf8").replace("line 3\n", "third\n"));
      writeFileSync(join(server.root, "<b>new"), "new\n");
      const { id } = await server.session();
      const page = await open().visit(server, linkTo(server, id), { viewport });
      await openChanges(page);
      await page.getByRole("combobox", { name: /^Show/ }).selectOption("Not committed");
      const changed = page.getByRole("region", { name: "a.txt", exact: true });
      await changed.getByText("third").waitFor();
      await page.getByRole("region", { name: "<b>new", exact: true }).waitFor();
      expect(await violations(page)).toEqual([]);

      await changed.getByRole("button", { name: "Comment on line 3" }).last().click();
      await changed.getByRole("textbox", { name: "Comment on line 3" }).fill("Why not 3rd?");
      await changed.getByRole("button", { name: "Add the comment" }).click();
      const sent = page.waitForRequest((request) => request.method() === "POST" && /messages$/.test(request.url()));
      await page.getByRole("button", { name: "Send 1 comment" }).click();
      const body = (await sent).postDataJSON() as { text: string };
      expect(body.text).toBe("A comment on the changes:\n\na.txt, line 3:\n> third\nWhy not 3rd?");

      await changed.getByLabel("Stage").check();
      await page.getByLabel("Commit message").fill("Third");
      await page.getByRole("button", { name: "Commit 1 file" }).click();
      await until("it is committed", () => git(server.root, "log", "-1", "--format=%s") === "Third\n");
      await changed.waitFor({ state: "detached" });

      const fresh = page.getByRole("region", { name: "<b>new", exact: true });
      await fresh.getByRole("button", { name: "Revert", exact: true }).click();
      await fresh.getByText("The new file is removed.").waitFor();
      await fresh.getByRole("button", { name: "Revert the file" }).click();
      await page.getByText("Everything is committed.").waitFor();
      expect(git(server.root, "status", "--porcelain")).toBe("");
      expect(git(server.root, "for-each-ref", "refs/weir/kept")).not.toBe("");
    });
  }

  // A second is the aim on a machine that does nothing else; what is sure is that only the first lines are drawn.
  it("of 5,000 lines opens with its first lines", async () => {
    const server = await serve();
    const file = repository(server, 5000);
    writeFileSync(file, readFileSync(file, "utf8").replaceAll("line", "row"));
    const { id } = await server.session();
    const page = await open().visit(server, linkTo(server, id));
    await openChanges(page);
    const begun = Date.now();
    await page.getByRole("combobox", { name: /^Show/ }).selectOption("Not committed");
    const lines = page.getByRole("region", { name: "a.txt", exact: true }).locator("td.code");
    await lines.first().waitFor();
    console.log(`a review of 5,000 lines opened in ${Date.now() - begun} ms`);
    expect(await lines.count()).toBe(400);
    await page.getByRole("button", { name: "Show 9600 more lines" }).waitFor();
  });

  it("is not offered to those who may not change anything", async () => {
    const server = await serve();
    repository(server, 3);
    const { id } = await server.session();
    for (const role of ["viewer", "approver"] as const) {
      const page = await openAs(open(), server, role, id);
      await openChanges(page);
      await page.getByText("No files changed yet.").waitFor();
      expect(await page.getByRole("combobox", { name: /^Show/ }).count()).toBe(0);
    }
  });

  it("says that a folder is in no repository", async () => {
    const server = await serve();
    const { id } = await server.session();
    const page = await open().visit(server, linkTo(server, id));
    await openChanges(page);
    await page.getByRole("combobox", { name: /^Show/ }).selectOption("Since the branch began");
    await page.getByText("The folder of this session is in no git repository.").waitFor();
    expect(await violations(page)).toEqual([]);
  });
});
