import { mount } from "svelte";
import Root from "./components/Root.svelte";
import { app, showTheme } from "./lib/state/app.svelte.ts";
import "./styles/fonts.css";
import "./styles/base.css";
import "./styles/prose.css";
import "./styles/code.css";

showTheme(app.theme);
const target = document.getElementById("app");
if (target !== null) mount(Root, { target });
void app.start();
// Not worth a word if it fails: the page works without it.
if ("serviceWorker" in navigator) void navigator.serviceWorker.register("./sw.js").catch(() => undefined);
