// Pictures that go with a message.

import type { Picture } from "../api/types.ts";

const KINDS = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
const MOST_BYTES = 5 * 1024 * 1024;

/** Reads a file, or says why it cannot be sent. */
export async function readPicture(file: File): Promise<Picture> {
  if (!KINDS.has(file.type)) throw new Error(`${file.name || "This file"} is no PNG, JPEG, GIF or WebP picture.`);
  if (file.size > MOST_BYTES) throw new Error(`${file.name || "This picture"} is larger than 5 MB.`);
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
