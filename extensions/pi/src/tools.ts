/** Tools for the model. */
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import type { Pigrep } from "./pigrep.ts";

export function registerTools(_pi: ExtensionAPI, _client: Pigrep): void {}
