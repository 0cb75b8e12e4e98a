import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout } from "node:timers/promises";

/** Runs `work` while no other process holds the lock file; one left by a process that has ended is taken over. */
export async function withLock(file, work) {
  mkdirSync(dirname(file), { recursive: true });
  while (!acquire(file)) await setTimeout(100);
  const release = () => rmSync(file, { force: true });
  process.once("exit", release);
  try {
    return await work();
  } finally {
    process.off("exit", release);
    release();
  }
}

/** A hard link appears with its content in one go, so a lock is never seen without its owner. */
function acquire(file) {
  const own = `${file}.${process.pid}`;
  writeFileSync(own, String(process.pid));
  try {
    linkSync(own, file);
    return true;
  } catch (error) {
    if (error.code !== "EEXIST") throw error;
    if (ownerIsGone(file)) takeAway(file);
    return false;
  } finally {
    rmSync(own, { force: true });
  }
}

/** False where there is no lock: it has just been given back, and the next one to be seen there is another's. */
function ownerIsGone(file) {
  const owner = attempt("ENOENT", () => readFileSync(file, "utf8"));
  if (owner === undefined) return false;
  try {
    process.kill(Number(owner), 0);
    return false;
  } catch (error) {
    return error.code !== "EPERM";
  }
}

/** Under a name of its own it is looked at again: another may have taken it over since, and gets it back. */
function takeAway(file) {
  const taken = `${file}.${process.pid}.gone`;
  attempt("ENOENT", () => renameSync(file, taken));
  if (!ownerIsGone(taken)) attempt("EEXIST", () => attempt("ENOENT", () => linkSync(taken, file)));
  rmSync(taken, { force: true });
}

/** What the call returns; undefined where it fails with this code. */
function attempt(code, call) {
  try {
    return call();
  } catch (error) {
    if (error.code !== code) throw error;
    return undefined;
  }
}
