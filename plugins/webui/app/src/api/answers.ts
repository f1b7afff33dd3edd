/** What the server's own paths answer with, as far as the pages look at it. */

export interface ModelCard {
  readonly id: string;
  readonly family: string;
  readonly context_window: number;
  readonly vocabulary: number;
  readonly weight_bytes: number;
  readonly reasoning: boolean;
  readonly vision: boolean;
  readonly tools: boolean;
  readonly state: "loaded" | "loading" | "on disk";
  readonly pinned: boolean;
  readonly aliases: readonly string[];
  readonly adapters: readonly string[];
}

export interface FitReport {
  readonly fits: boolean;
  readonly context_tokens: number;
  readonly max_safe_context: number;
  readonly weights_bytes: number;
  readonly kv_bytes: number;
  readonly transient_bytes: number;
  readonly total_bytes: number;
  readonly usable_bytes: number;
  readonly predicted_decode_tps: number | null;
}

export interface SkuFit {
  readonly sku: string;
  readonly ram_gb: number;
  readonly fits: boolean;
  readonly max_context: number;
  readonly decode_tps: number;
}

export interface Fit {
  readonly model: string;
  readonly machine: {
    readonly backend: string;
    readonly chip: string;
    readonly ram_bytes: number;
    readonly usable_bytes: number;
    readonly bandwidth_gbs: number | null;
  };
  readonly context_tokens: number;
  readonly typical_context_tokens: number;
  readonly typical_decode_tps: number | null;
  readonly measured_decode_tps: number | null;
  readonly report: FitReport;
  readonly sku_matrix_ctx: number;
  readonly sku_matrix: readonly SkuFit[];
}

export interface LibraryModel {
  readonly repo_id: string;
  readonly model_type: string;
  readonly family: string | null;
  readonly context: number;
  readonly size_bytes: number;
  readonly quant_bits: number | null;
  readonly group_size: number | null;
  readonly vision: boolean;
  readonly supported: boolean;
  readonly fault: string | null;
  readonly serving: boolean;
  readonly assessment: FitReport | null;
}

export interface Download {
  readonly repoId: string;
  readonly revision: string;
  readonly state: "active" | "done" | "error";
  readonly currentFile: string | null;
  readonly receivedBytes: number;
  readonly totalBytes: number;
  readonly filesDone: number;
  readonly filesTotal: number;
  readonly bytesPerSec: number;
  readonly error?: string;
}

export interface PluginReport {
  readonly name: string;
  readonly module: string;
  readonly dist: string;
  readonly version: string;
  readonly state: "on" | "off" | "broken";
  readonly brings: Readonly<Record<string, readonly string[]>>;
  readonly load_ms: number;
  readonly faults: number;
  readonly fault: string | null;
  readonly warnings: readonly string[];
}

export type Cause = "none" | "empty" | "different" | "no_checkpoint" | "evicted" | "off";

export interface Stats {
  readonly server: {
    readonly version: string;
    readonly model: string | null;
    readonly state: string;
    readonly fault: string | null;
    readonly started_at: number;
  };
  readonly batch: { readonly configured: number; readonly active_rows: number };
  readonly queue: {
    readonly limit: number;
    readonly waiting: number;
    readonly prefilling: number;
    readonly running: number;
  };
  readonly timings: { readonly ttft_s: number; readonly tokens_per_s: number };
  readonly totals: {
    readonly finished: number;
    readonly failed: number;
    readonly cancelled: number;
    readonly guessed_tokens: number;
    readonly accepted_tokens: number;
    readonly read_tokens: number;
    readonly drawn_tokens: number;
    readonly steps: number;
    readonly host_s: number;
  };
  readonly admission: {
    readonly max_safe_context: number | null;
    readonly usable_bytes: number;
    readonly weights_bytes: number;
    readonly cache_bytes: number;
    readonly active_bytes: number;
    readonly peak_bytes: number;
  };
  readonly prompt_cache: PromptCache | null;
}

export interface PromptCache {
  readonly entries: number;
  readonly bytes: number;
  readonly max_bytes: number;
  readonly hits: number;
  readonly misses: number;
  readonly hit_tokens: number;
  readonly off: string | null;
  readonly disk: {
    readonly entries: number;
    readonly bytes: number;
    readonly max_bytes: number;
    readonly off: string | null;
  } | null;
  readonly recent: readonly {
    readonly request_id: string;
    readonly prompt: number;
    readonly cached: number;
    readonly shared: number;
    readonly cause: Cause;
  }[];
}

export interface RunningRequest {
  readonly id: string;
  readonly protocol: string;
  readonly model: string;
  readonly age_s: number;
  readonly choices: readonly {
    readonly choice: number;
    readonly state: "waiting" | "prefilling" | "generating" | "ended";
    readonly prompt: number;
    readonly read: number;
  }[];
}

export interface EndedChoice {
  readonly id: string;
  readonly choice: number;
  readonly protocol: string;
  readonly model: string;
  readonly adapters: readonly string[];
  readonly ended_at: number;
  readonly reason: string;
  readonly error: string | null;
  readonly seed: number;
  readonly prompt_tokens: number;
  readonly cached_tokens: number;
  readonly cause: Cause | null;
  readonly completion_tokens: number;
  readonly thinking_tokens: number;
  readonly queued_s: number;
  readonly prefill_s: number;
  readonly decode_s: number;
}

export interface RequestList {
  readonly running: readonly RunningRequest[];
  readonly ended: readonly EndedChoice[];
}

export interface SettingInForce {
  readonly name: string;
  readonly value: unknown;
  readonly secret: boolean;
  readonly layer: "default" | "file" | "environment" | "flag";
  readonly source: string;
}
