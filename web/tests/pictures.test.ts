import { afterEach, describe, expect, it, vi } from "vitest";
import { checkRoom } from "../src/lib/state/pictures.ts";
import { PictureShelf } from "../src/lib/state/shown-pictures.ts";

describe("pictures in sight", () => {
  afterEach(() => vi.restoreAllMocks());

  it("are fetched once, and the oldest are given back", async () => {
    let made = 0;
    vi.spyOn(URL, "createObjectURL").mockImplementation(() => `blob:${(made += 1)}`);
    const revoked = vi.spyOn(URL, "revokeObjectURL").mockImplementation(() => undefined);
    const fetch = vi.fn(() => Promise.resolve(new Blob()));
    const shelf = new PictureShelf(2);
    expect(await shelf.get("a", fetch)).toBe("blob:1");
    expect(await shelf.get("b", fetch)).toBe("blob:2");
    expect(await shelf.get("a", fetch)).toBe("blob:1");
    await shelf.get("c", fetch);
    await Promise.resolve();
    expect(revoked.mock.calls).toEqual([["blob:2"]]);
    expect(fetch).toHaveBeenCalledTimes(3);
  });

  it("are tried again where they could not be fetched", async () => {
    vi.spyOn(URL, "createObjectURL").mockReturnValue("blob:1");
    const shelf = new PictureShelf();
    await expect(shelf.get("a", () => Promise.reject(new Error("away")))).rejects.toThrow("away");
    expect(await shelf.get("a", () => Promise.resolve(new Blob()))).toBe("blob:1");
  });
});

describe("pictures of a message", () => {
  it("must fit into one request", () => {
    const picture = { media_type: "image/png", data: "x".repeat(7 * 1024 * 1024) };
    checkRoom([picture, picture, picture], picture);
    expect(() => checkRoom([picture, picture, picture, picture], picture)).toThrow("Too many");
  });
});
