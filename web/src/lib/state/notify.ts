// Browser notifications: permission is requested only when the user turns them on.

import { recall, remember } from "./keep.ts";

export function canNotify(): boolean {
  return typeof Notification !== "undefined";
}

export function notifies(): boolean {
  return canNotify() && Notification.permission === "granted" && recall("notify", false);
}

export async function turnNotifications(on: boolean): Promise<boolean> {
  if (on && canNotify() && Notification.permission === "default") await Notification.requestPermission();
  remember("notify", on && canNotify() && Notification.permission === "granted");
  return notifies();
}

export function notify(title: string, body: string, tag: string, click: () => void): void {
  if (!notifies() || !document.hidden) return;
  try {
    // One per session; an update alerts again.
    const options: NotificationOptions & { renotify: boolean } = { body, tag, renotify: true };
    const shown = new Notification(title, options);
    shown.onclick = () => {
      window.focus();
      click();
      shown.close();
    };
  } catch {
    // Some phones offer notifications only to installed pages.
  }
}
