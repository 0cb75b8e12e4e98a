import type { Command } from "commander";
export function configurePush(command: Command): void {
  command.action(() => {});
}
