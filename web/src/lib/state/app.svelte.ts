// The page as a whole: who is signed in, which sessions are open, and the layout around them.

import { Client, RequestError } from "../api/client.ts";
import type { CliReport, CreateSession, Me, Request, Role, SessionInfo } from "../api/schema.ts";
import { type Refusal, refusalWords } from "../text/access.ts";
import { sentence } from "../text/format.ts";
import { revealText } from "../text/reveal.ts";
import { isWorking } from "../text/status.ts";
import { type Grouping, groupSessions, nameOf } from "../text/sessions.ts";
import { storedToken, storeToken, takeFragment } from "../api/auth.ts";
import { Conversation } from "./conversation.svelte.ts";
import { panesHere, stayWith, stepTo } from "./history.ts";
import { inTab, keepInTab, recall, remember } from "./keep.ts";
import { notify } from "./notify.ts";
import { Outbox } from "./outbox.svelte.ts";
import { Sessions } from "./sessions.svelte.ts";

export type Theme = "system" | "light" | "dark";
export type PanelTab = "changes" | "todos" | "agents" | "usage" | "raw";
export type Dialog = "new" | "help" | "access" | "loop" | "limit" | "share" | "rename" | "delete" | "archive" | null;

export interface Toast {
  id: number;
  text: string;
  tone: "info" | "error";
}

/** More panes would exhaust the browser's connections per server. */
const MAX_PANES = 3;
const HIDDEN_PAUSE_MS = 20_000;
export const CUT_AFTER_MS = 3000;
const RANK: Record<Role, number> = { viewer: 0, approver: 1, driver: 2, admin: 3 };

export class App {
  phase = $state<"starting" | "login" | "ready" | "failed">("starting");
  failure = $state<string | null>(null);
  me = $state.raw<Me | null>(null);
  /** Whether the CLI can be used, for those who can send messages. */
  cli = $state.raw<CliReport | null>(null);
  theme = $state<Theme>(recall<Theme>("theme", "system"));
  panes = $state.raw<Conversation[]>([]);
  active = $state(0);
  leftOpen = $state(recall("left", true));
  /** Whether the user wants the details; null if they have not said so. */
  rightOpen = $state(recall<boolean | null>("right", null));
  rightWidth = $state(recall("rightWidth", 400));
  /** Whether the details fit next to the list and the transcript. */
  roomy = $state(isRoomy());
  /** On a narrow screen the sides are drawers, closed at first. */
  drawer = $state<"left" | "right" | null>(null);
  grouping = $state<Grouping>(recall<Grouping>("grouping", "time"));
  tab = $state<PanelTab>(recall<PanelTab>("tab", "changes"));
  /** Whether the user has chosen the tab since the page was opened. */
  #hasChosenTab = false;
  dialog = $state<Dialog>(null);
  /** The session in which text is being looked for, and the text to begin with. */
  finding = $state<string | null>(null);
  findText = $state("");
  toasts = $state.raw<Toast[]>([]);
  now = $state(Date.now());
  online = $state(navigator.onLine);
  /** Requests that were answered on this page; others were answered elsewhere. */
  readonly mine = new Set<string>();

  client!: Client;
  sessions!: Sessions;
  outbox!: Outbox;
  /** The entry that the address names, while signing in. */
  #entry: number | null = null;
  #nextToast = 1;
  #pause: ReturnType<typeof setTimeout> | null = null;

  async start(): Promise<void> {
    const { token, session, entry } = takeFragment();
    this.#entry = entry;
    if (token !== null) storeToken(token);
    const known = token ?? storedToken();
    if (known === null) {
      const refusal = inTab<Refusal>("refusal");
      this.failure = refusal === undefined ? null : refusalWords[refusal];
      this.phase = "login";
      return;
    }
    await this.enter(known, session, token === null ? "ended" : "link");
  }

  /** Signs in with this token. `refusal` is shown if the server does not accept it. */
  async enter(
    token: string,
    session: string | null = takeFragment().session,
    refusal: Refusal = "typed",
  ): Promise<void> {
    this.client = new Client(token);
    try {
      this.me = await this.client.me();
    } catch (error) {
      if (error instanceof RequestError && error.status === 401) {
        storeToken(null);
        this.#say(refusal);
        this.phase = "login";
      } else {
        this.failure = error instanceof Error ? error.message : String(error);
        this.phase = "failed";
        setTimeout(() => void (this.phase === "failed" && this.enter(token, session, refusal)), 2000);
      }
      return;
    }
    storeToken(token);
    this.failure = null;
    keepInTab("refusal", null);
    this.outbox = new Outbox(this.client);
    this.sessions = new Sessions(this.client, {
      turned: (info, before) => this.#turned(info, before),
      linked: () => void this.outbox.flush(),
      refused: (why, status) => this.#refused(why, status),
    });
    this.phase = "ready";
    void this.checkCli();
    const first = this.me.session ?? session;
    const here = panesHere();
    // After a reload the tab has what it had, which may be more than the session of the address.
    const isNew = first != null && here?.includes(first) !== true;
    const open = isNew ? [first] : (here ?? recall<string[]>("panes", []));
    for (const id of open.slice(0, MAX_PANES)) this.openInNewPane(id);
    this.active = 0;
    if (this.#entry !== null && first != null) this.showEntry(first, this.#entry);
    this.#entry = null;
    this.#listen();
  }

  /** Opens a session at an entry. */
  showEntry(session: string, entry: number): void {
    this.open(session);
    const pane = this.panes.find(({ id }) => id === session);
    if (pane) pane.wanted = entry;
  }

  /** Looks whether the CLI is there and logged in. Without an answer nothing is claimed. */
  async checkCli(): Promise<void> {
    if (!this.may("driver") || this.shared || this.me?.demo) return;
    this.cli = await this.client.cli().catch(() => null);
  }

  leave(): void {
    storeToken(null);
    for (const pane of this.panes) pane.pause();
    this.sessions.close();
    this.panes = [];
    this.me = null;
    this.cli = null;
    this.phase = "login";
  }

  may(role: Role): boolean {
    return this.me !== null && RANK[this.me.role] >= RANK[role];
  }

  get shared(): boolean {
    return this.me?.session != null;
  }

  /** On a wide screen the details are closed until there are some, unless the user has decided. */
  get rightShown(): boolean {
    if (this.current === null) return false;
    if (this.rightOpen !== null) return this.rightOpen;
    const { files, todos, agents, tasks } = this.current.view;
    return this.roomy && files.length + todos.length + agents.length + tasks.length > 0;
  }

  get current(): Conversation | null {
    return this.panes[this.active] ?? null;
  }

  /** Shows a session in the active pane. */
  open(id: string): void {
    this.drawer = null;
    const there = this.panes.findIndex((pane) => pane.id === id);
    if (there >= 0) {
      this.active = there;
      return;
    }
    const pane = this.#conversation(id);
    this.current?.pause();
    this.panes = this.panes.length === 0 ? [pane] : this.panes.map((old, at) => (at === this.active ? pane : old));
    this.#rememberPanes(stepTo);
  }

  /** Shows a session in a new pane next to the others. */
  openInNewPane(id: string): void {
    if (this.panes.some((pane) => pane.id === id)) return this.open(id);
    if (this.panes.length >= MAX_PANES) return this.open(id);
    this.panes = [...this.panes, this.#conversation(id)];
    this.active = this.panes.length - 1;
    this.#rememberPanes();
  }

  /** Whether a session's link is down, and for long enough to say so. The browser knows at once that it is offline. */
  isCut(pane: Conversation): boolean {
    if (pane.link === "refused" || !pane.loaded) return false;
    return !this.online || (pane.link !== "open" && this.now - pane.linkSince > CUT_AFTER_MS);
  }

  /** The pane that tells it, for all of them; -1 if none does. */
  get cutPane(): number {
    if (isNarrow()) return this.current !== null && this.isCut(this.current) ? this.active : -1;
    return this.panes.findIndex((pane) => this.isCut(pane));
  }

  /** Looks for text in a session. */
  find(id: string, text = ""): void {
    this.findText = text;
    this.finding = id;
  }

  closePane(at: number): void {
    this.panes[at]?.pause();
    this.panes = this.panes.filter((_, place) => place !== at);
    this.active = Math.max(0, Math.min(this.active, this.panes.length - 1));
    this.#rememberPanes();
  }

  close(id: string): void {
    const at = this.panes.findIndex((pane) => pane.id === id);
    if (at >= 0) this.closePane(at);
  }

  async create(session: CreateSession): Promise<SessionInfo> {
    const info = await this.client.create(session);
    this.sessions.put(info);
    this.open(info.id);
    return info;
  }

  /** Switches to the next or previous session of the list. */
  step(by: number): void {
    const list = groupSessions(this.sessions.shown, this.now, this.grouping).flatMap(({ sessions }) => sessions);
    const at = list.findIndex((info) => info.id === this.current?.id);
    const next = list[Math.max(0, Math.min(list.length - 1, at + by))];
    if (next) this.open(next.id);
  }

  setTheme(theme: Theme): void {
    this.theme = theme;
    remember("theme", theme);
    showTheme(theme);
  }

  /** The list makes way for the details where there is no room for both. */
  get leftShown(): boolean {
    return this.leftOpen && (this.roomy || !this.rightShown);
  }

  toggleLeft(): void {
    if (isNarrow()) this.drawer = this.drawer === "left" ? null : "left";
    else this.#setLeft(!this.leftShown);
  }

  showLeft(): void {
    if (isNarrow()) this.drawer = "left";
    else this.#setLeft(true);
  }

  #setLeft(open: boolean): void {
    this.leftOpen = open;
    remember("left", open);
    if (open && !this.leftShown) this.toggleRight();
  }

  toggleRight(tab?: PanelTab): void {
    if (tab !== undefined) this.setTab(tab);
    if (isNarrow()) this.drawer = this.drawer === "right" && tab === undefined ? null : "right";
    else {
      this.rightOpen = tab !== undefined ? true : !this.rightShown;
      remember("right", this.rightOpen);
    }
  }

  setGrouping(grouping: Grouping): void {
    this.grouping = grouping;
    remember("grouping", grouping);
  }

  setRightWidth(width: number): void {
    this.rightWidth = Math.round(Math.max(MIN_DETAILS, Math.min(width, innerWidth / 2)));
    remember("rightWidth", this.rightWidth);
  }

  /** Details that open by themselves show something. */
  get shownTab(): PanelTab {
    if (this.#hasChosenTab || this.rightOpen !== null || this.current === null) return this.tab;
    const { files, todos, agents, tasks } = this.current.view;
    const full: Record<PanelTab, boolean> = {
      changes: files.length > 0,
      todos: todos.length > 0,
      agents: agents.length + tasks.length > 0,
      usage: true,
      raw: true,
    };
    return full[this.tab] ? this.tab : ((["changes", "todos", "agents"] as const).find((tab) => full[tab]) ?? this.tab);
  }

  setTab(tab: PanelTab): void {
    this.#hasChosenTab = true;
    this.tab = tab;
    remember("tab", tab);
  }

  /** Ends a session's process with everything that it started. */
  async stop(conversation: Conversation): Promise<void> {
    conversation.stopping = true;
    const done = await this.attempt("The agent could not be stopped", () => this.client.stop(conversation.id));
    conversation.stopping = false;
    // The message is true until there is a process again.
    if (done) conversation.stoppedToast = this.toast("Stopped: no process is left.");
  }

  /** Ends the running turn. */
  async interrupt(conversation: Conversation): Promise<void> {
    const done = await this.attempt("The turn could not be interrupted", () => this.client.interrupt(conversation.id));
    if (done && !done.interrupted) this.toast("Nothing was running.");
  }

  /** Shows a message for a while. The returned id can dismiss it earlier. */
  toast(text: string, tone: Toast["tone"] = "info", ms = tone === "error" ? 10_000 : 6000): number {
    const id = this.#nextToast;
    this.#nextToast += 1;
    this.toasts = [...this.toasts.slice(-3), { id, text, tone }];
    setTimeout(() => this.dismiss(id), ms);
    return id;
  }

  isShown(id: number | null): boolean {
    return this.toasts.some((toast) => toast.id === id);
  }

  dismiss(id: number | null): void {
    this.toasts = this.toasts.filter((toast) => toast.id !== id);
  }

  /** Runs an action and shows what went wrong, if anything. */
  async attempt<T>(what: string, step: () => Promise<T>): Promise<T | null> {
    try {
      return await step();
    } catch (error) {
      this.toast(`${what}: ${error instanceof Error ? error.message : String(error)}`, "error");
      return null;
    }
  }

  #conversation(id: string): Conversation {
    const conversation = new Conversation(this.client, id, {
      answered: (request) => this.#answered(request),
      session: (info) => this.sessions.put(info),
    });
    conversation.open();
    return conversation;
  }

  #rememberPanes(keep: (panes: string[]) => void = stayWith): void {
    if (this.shared) return;
    const panes = this.panes.map((pane) => pane.id);
    remember("panes", panes);
    keep(panes);
  }

  /** Shows the panes of the current history entry. */
  #goBack(): void {
    const { session: named, entry } = takeFragment();
    const wanted = panesHere() ?? (named === null ? [] : [named]);
    if (this.phase !== "ready" || this.shared) return;
    for (const pane of this.panes) if (!wanted.includes(pane.id)) pane.pause();
    this.panes = wanted.map((id) => this.panes.find((pane) => pane.id === id) ?? this.#conversation(id));
    this.active = Math.max(0, Math.min(this.active, this.panes.length - 1));
    this.drawer = null;
    remember("panes", wanted);
    if (named !== null && entry !== null) this.showEntry(named, entry);
  }

  #answered(request: Request): void {
    if (this.mine.has(request.id) || request.kind.kind === "client_tool") return;
    const { kind } = request.kind;
    const what = request.kind.kind === "permission" ? request.kind.tool_name : kind[0]?.toUpperCase() + kind.slice(1);
    const state = request.state;
    if (state.state === "allowed") this.toast(`${what}: answered by ${state.by ?? "someone else"}.`);
    else if (state.state === "denied") this.toast(`${what}: denied by ${state.by ?? "someone else"}.`);
    else if (state.state === "expired") this.toast(`${what}: not answered in time, so it was denied.`);
    else if (state.state === "cancelled") this.toast(`${what}: the request was cancelled.`);
  }

  #turned(info: SessionInfo, before: SessionInfo): void {
    const name = revealText(nameOf(info));
    const click = () => this.open(info.id);
    if (info.status === before.status && info.background === before.background) return;
    if (info.status === "waiting") notify("An agent needs your answer", name, info.id, click);
    else if (info.status === "failed") notify("An agent failed", name, info.id, click);
    // Work in the background does not hold back that the turn is done.
    else if (!isWorking(info) && isWorking(before) && info.status !== "stopping" && info.status !== "interrupted") {
      notify("An agent is done", name, info.id, click);
    }
  }

  #refused(why: string | null, status: number | undefined): void {
    if (status === 401 || why === null) this.#say(this.shared ? "share" : "ended");
    else this.failure = sentence(why);
    this.leave();
  }

  /** Kept over a reload. */
  #say(refusal: Refusal): void {
    this.failure = refusalWords[refusal];
    keepInTab("refusal", refusal === "typed" ? null : refusal);
  }

  #listening = false;
  #listen(): void {
    if (this.#listening) return;
    this.#listening = true;
    const wake = () => {
      this.online = navigator.onLine;
      if (this.phase !== "ready") return;
      this.sessions.wake();
      for (const pane of this.panes) pane.wake();
      void this.outbox.flush();
    };
    addEventListener("popstate", () => this.#goBack());
    addEventListener("online", wake);
    addEventListener("offline", () => (this.online = false));
    addEventListener("focus", wake);
    addEventListener("pageshow", wake);
    document.addEventListener("visibilitychange", () => {
      if (this.#pause !== null) clearTimeout(this.#pause);
      this.#pause = null;
      if (!document.hidden) wake();
      // Hidden pages close their connections; the list of sessions stays live for notifications.
      else this.#pause = setTimeout(() => this.panes.forEach((pane) => pane.pause()), HIDDEN_PAUSE_MS);
    });
    addEventListener("resize", () => (this.roomy = isRoomy()));
    setInterval(() => (this.now = Date.now()), 1000);
  }
}

/** Narrower details would not be readable. */
const MIN_DETAILS = 300;

function isRoomy(): boolean {
  return matchMedia("(min-width: 1200px)").matches;
}

export function isNarrow(): boolean {
  return matchMedia("(max-width: 900px)").matches;
}

export function showTheme(theme: Theme): void {
  if (theme === "system") document.documentElement.removeAttribute("data-theme");
  else document.documentElement.dataset["theme"] = theme;
}

export const app = new App();
