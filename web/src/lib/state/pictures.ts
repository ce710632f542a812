// Pictures sent with a message.

import type { Image } from "../api/schema.ts";

const KINDS = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
const MAX_BYTES = 5 * 1024 * 1024;
/** The server accepts 32 MiB per message, as JSON; the text needs some of it. */
const MAX_TOTAL = 30 * 1024 * 1024;

/** Whether another picture still fits into the message. */
export function checkRoom(pictures: Image[], more: Image): void {
  const size = [...pictures, more].reduce((sum, picture) => sum + picture.data.length, 0);
  if (size > MAX_TOTAL) throw new Error("Too many pictures for one message. Send the rest with the next one.");
}

/** Reads a file, or throws why it cannot be sent. */
export async function readPicture(file: File): Promise<Image> {
  if (!KINDS.has(file.type)) throw new Error(`${file.name || "This file"} is not a PNG, JPEG, GIF or WebP image.`);
  if (file.size > MAX_BYTES) throw new Error(`${file.name || "This picture"} is larger than 5 MB.`);
  const url = await new Promise<string>((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result as string);
    reader.onerror = () => reject(new Error("The picture could not be read."));
    reader.readAsDataURL(file);
  });
  return { media_type: file.type, data: url.slice(url.indexOf(",") + 1) };
}

export function picturesIn(data: DataTransfer | null): File[] {
  return [...(data?.files ?? [])].filter((file) => file.type.startsWith("image/"));
}
