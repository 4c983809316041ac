/* table_attributes.c - columns that say something of rows rather than being items: sampling weights, their replicates,
 * frequencies, clusters and strata. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "table.h"

enum { MOST_COPIES = 1000000000 }; /* of a row */

/* From ROLE_WEIGHT on: the option, what a row has, and where the column's name is. */
static const struct {
  const char *flag, *what;
  size_t column;
} attribute[] = {{"weights", "weight", offsetof(table_options, weights)},
                 {"frequencies", "frequency", offsetof(table_options, frequencies)},
                 {"cluster", "cluster", offsetof(table_options, cluster)},
                 {"strata", "stratum", offsetof(table_options, strata)},
                 {"id", "identifier", offsetof(table_options, id)},
                 {"replicate-weights", "replicate", offsetof(table_options, replicate_weights)}};

/* The column that an option names, or NULL. */
static const char *asked(const table *t, column_role role) {
  const char *name;
  memcpy(&name, (const char *)&t->options + attribute[role - ROLE_WEIGHT].column, sizeof name);
  return name;
}

static const char *flag_of(column_role role) {
  return attribute[role - ROLE_WEIGHT].flag;
}

static blica_status check_asked(const table *t, column_role role) {
  const table_options *o = &t->options;
  if (role == ROLE_ID) return BLICA_OK;
  if (o->unlabelled)
    return table_refuse(t,
                        "--%s: rows in the order of time whose segments are to be found have no weights, clusters or "
                        "strata; leave out the option",
                        flag_of(role));
  if (role == ROLE_FREQUENCY && (o->segment_length || o->segment_count))
    return table_refuse(t, "--frequencies repeats rows, and --segment-length and --segment-count number them; name the "
                           "segments by --segment-column or --segment-file");
  return BLICA_OK;
}

/* ---- identifiers ---- */

void table_ids_clear(table_ids *ids) {
  for (int64_t r = 0; r < ids->count; r++) free(ids->text[r]);
  ids->count = 0;
}

void table_labels_free(table_labels *labels) {
  for (int i = 0; i < labels->count; i++) free(labels->text[i]);
  free(labels->text);
  *labels = (table_labels){0};
}

void table_ids_free(table_ids *ids) {
  table_ids_clear(ids);
  free(ids->text);
  free(ids->name);
  *ids = (table_ids){0};
}

static blica_status begin_ids(table *t, int column) {
  table_ids_free(t->options.ids);
  t->options.ids->name = strdup(t->header ? t->header[column] : "id");
  return t->options.ids->name ? BLICA_OK : table_no_memory(t);
}

static bool add_id(table_ids *ids, const bl_record_field *f) {
  if (ids->count == ids->capacity) {
    const int64_t capacity = ids->capacity ? 2 * ids->capacity : 1024;
    char **text = realloc(ids->text, (size_t)capacity * sizeof *text);
    if (!text) return false;
    ids->text = text, ids->capacity = capacity;
  }
  ids->text[ids->count] = strndup(f->text, f->length);
  return ids->text[ids->count++] != NULL;
}

/* ---- which columns ---- */

static blica_status taken(const table *t, column_role role, int column) {
  char buffer[32];
  return table_fail(
      t, BLICA_ERR_ARGUMENT,
      "--%s names column %d (%s), which holds the segments or what another option names; give it a column of its own",
      flag_of(role), column + 1, table_column_name(t, column, buffer));
}

static blica_status find_replicates(table *t) {
  const table_options *o = &t->options;
  if (!o->replicate_weights && !o->replicate_method) return BLICA_OK;
  if (!o->replicates_known)
    return table_refuse(t, "replicate weights change the errors of blica assess alone; leave out --replicate-weights "
                           "and --replicate-method");
  if (!o->replicate_weights || !o->replicate_method || !o->weights)
    return table_refuse(t,
                        "--replicate-weights, --replicate-method and --weights belong together, the last naming the "
                        "weights that the replicates vary; --%s is missing",
                        !o->weights             ? "weights"
                        : !o->replicate_weights ? "replicate-weights"
                                                : "replicate-method");
  OWNED bool *chosen = malloc((size_t)t->columns + 1);
  t->replicate_row = malloc(((size_t)t->columns + 1) * sizeof *t->replicate_row);
  if (!chosen || !t->replicate_row) return table_no_memory(t);
  MUST(table_mark_columns(t, "replicate-weights", o->replicate_weights, chosen));
  for (int k = 0; k < t->columns; k++) {
    if (!chosen[k]) continue;
    if (t->role[k] != ROLE_VALUE) return taken(t, ROLE_REPLICATE, k);
    t->role[k] = ROLE_REPLICATE;
    t->replicates++;
  }
  return BLICA_OK;
}

blica_status table_find_attributes(table *t) {
  for (column_role role = ROLE_WEIGHT; role < ROLE_REPLICATE; role++) {
    const char *name = asked(t, role);
    int column;
    if (!name) continue;
    MUST(check_asked(t, role));
    MUST(table_find_column(t, flag_of(role), name, strlen(name), &column));
    if (t->role[column] != ROLE_VALUE) return taken(t, role, column);
    t->role[column] = role;
    t->attributes |= role != ROLE_ID || t->options.ids;
    if (role == ROLE_ID && t->options.ids) MUST(begin_ids(t, column));
  }
  return find_replicates(t);
}

bool table_take_replicate(table *t, int column, const char *text, size_t length) {
  double value;
  if (t->role[column] != ROLE_REPLICATE) return false;
  if (!table_number(text, length, &value) || !(value >= 0 && value < INFINITY)) value = NAN;
  t->replicate_row[t->replicate_at++] = value;
  return true;
}

static blica_status refuse(const table *t, column_role role, const bl_record_field *f, const char *what) {
  return table_fail_row(t, BLICA_ERR_DATA, ": its %s (--%s %s) is '%.*s'; %s", attribute[role - ROLE_WEIGHT].what,
                        flag_of(role), asked(t, role), (int)(f->length < 40 ? f->length : 40), f->length ? f->text : "",
                        what);
}

/* Space for the attributes of one more row. */
static bool reserve(table *t) {
  if (t->kept < t->kept_capacity) return true;
  const int64_t capacity = t->kept ? 2 * t->kept : 1024;
  double *weight = t->options.weights ? realloc(t->weight, (size_t)capacity * sizeof *weight) : NULL;
  if (weight) t->weight = weight;
  int32_t *cluster = t->options.cluster ? realloc(t->cluster, (size_t)capacity * sizeof *cluster) : NULL;
  if (cluster) t->cluster = cluster;
  int32_t *stratum = t->options.strata ? realloc(t->stratum, (size_t)capacity * sizeof *stratum) : NULL;
  if (stratum) t->stratum = stratum;
  const size_t each = (size_t)t->replicates * sizeof(double);
  double *replicate = each ? realloc(t->replicate, (size_t)capacity * each) : NULL;
  if (replicate) t->replicate = replicate;
  if ((t->options.weights && !weight) || (t->options.cluster && !cluster) || (t->options.strata && !stratum) ||
      (each && !replicate))
    return false;
  t->kept_capacity = capacity;
  return true;
}

/* Fails, naming the first of the row's replicate weights that is no number of at least 0. */
static blica_status check_replicates(table *t) {
  for (int k = 0, r = 0; k < t->columns && r < t->replicates; k++) {
    if (t->role[k] != ROLE_REPLICATE || !isnan(t->replicate_row[r++])) continue;
    return table_fail_value(t, k, "a replicate weight (--replicate-weights %s) must be a number of at least 0",
                            asked(t, ROLE_REPLICATE));
  }
  t->replicate_at = 0;
  return BLICA_OK;
}

/* The number of the cluster or stratum that the field names. A packer that takes no rows numbers their labels. */
static blica_status number_label(table *t, column_role role, const bl_record_field *f, blica_packer **labels,
                                 int32_t *id) {
  char label[256];
  *id = 0;
  if (table_is_missing(f->text, f->length) || table_listed_missing(t, f->text, f->length))
    return refuse(t, role, f,
                  role == ROLE_CLUSTER ? "give the row a cluster of its own if it belongs to none"
                                       : "each row is of one stratum; give it a label");
  if (f->length >= sizeof label || memchr(f->text, 0, f->length))
    return refuse(t, role, f, "a label is text of less than 256 bytes");
  memcpy(label, f->text, f->length);
  label[f->length] = 0;
  blica_status status = *labels ? BLICA_OK : blica_pack_begin(t->ctx, 2, NULL, labels);
  if (status == BLICA_OK) status = blica_pack_segment(t->ctx, *labels, label, id);
  return status == BLICA_OK ? status : table_library_failed(t, status);
}

blica_status table_take_attributes(table *t, const bl_record_field *carried, int64_t *copies) {
  const bl_record_field *f = &carried[ROLE_FREQUENCY];
  double weight = 1, frequency = 1;
  int32_t cluster = 0, stratum = 0;
  const table_options *o = &t->options;
  if (t->options.frequencies && (!table_number(f->text, f->length, &frequency) || frequency < 0 ||
                                 frequency > MOST_COPIES || frequency != floor(frequency)))
    return refuse(t, ROLE_FREQUENCY, f, "frequencies are whole numbers; --weights takes sampling weights");
  *copies = (int64_t)frequency;
  f = &carried[ROLE_WEIGHT];
  if (t->options.weights && (!table_number(f->text, f->length, &weight) || !(weight > 0 && weight < INFINITY)))
    return refuse(t, ROLE_WEIGHT, f, "weights are positive numbers; leave out rows that shall not count");
  for (int64_t c = 0; t->options.ids && c < *copies; c++)
    if (!add_id(t->options.ids, &carried[ROLE_ID])) return table_no_memory(t);
  if (t->replicates) MUST(check_replicates(t));
  f = &carried[ROLE_CLUSTER];
  if (o->cluster) MUST(number_label(t, ROLE_CLUSTER, f, &t->clusters, &cluster));
  f = &carried[ROLE_STRATUM];
  if (o->strata) MUST(number_label(t, ROLE_STRATUM, f, &t->strata, &stratum));
  for (int64_t c = 0; (o->weights || o->cluster || o->strata) && c < *copies; c++) {
    if (!reserve(t)) return table_no_memory(t);
    if (t->weight) t->weight[t->kept] = weight;
    if (t->cluster) t->cluster[t->kept] = cluster;
    if (t->stratum) t->stratum[t->kept] = stratum;
    if (t->replicates)
      memcpy(t->replicate + t->kept * t->replicates, t->replicate_row, (size_t)t->replicates * sizeof(double));
    t->kept++;
  }
  return BLICA_OK;
}

static blica_status set_replicates(const table_options *o, blica_ctx *ctx, const row_attributes *kept,
                                   blica_data *data) {
  const size_t rows = (size_t)data->rows, count = (size_t)kept->replicates;
  OWNED double *columns = malloc(rows * count * sizeof *columns);
  if (!columns) return BLICA_ERR_MEMORY;
  for (size_t r = 0; r < rows; r++)
    for (size_t c = 0; c < count; c++) columns[r + rows * c] = kept->replicate[c + count * r];
  return blica_data_set_replicates(ctx, data, kept->weight, kept->replicates, columns, o->replicate_method);
}

blica_status table_set_attributes(const table_options *options, blica_ctx *ctx, const row_attributes *kept,
                                  blica_data *data) {
  if (kept->replicate)
    MUST(set_replicates(options, ctx, kept, data));
  else if (kept->weight)
    MUST(blica_data_set_weights(ctx, data, kept->weight));
  if (kept->cluster) MUST(blica_data_set_clusters(ctx, data, kept->cluster));
  return kept->stratum ? blica_data_set_strata(ctx, data, kept->stratum) : BLICA_OK;
}

blica_status table_give_attributes(table *t, blica_data *data) {
  data->unordered = t->options.frequencies != NULL;
  if (t->options.collect) t->kept = 0;
  data->segments_found = t->labels_found;
  if (t->kept == 0) return BLICA_OK;
  const row_attributes kept = {t->weight, t->replicate, t->replicates, t->cluster, t->stratum};
  const blica_status status = table_set_attributes(&t->options, t->ctx, &kept, data);
  t->kept = 0;
  return status == BLICA_OK ? status : table_library_failed(t, status);
}

void table_free_attributes(table *t) {
  blica_packer_free(t->clusters);
  blica_packer_free(t->strata);
  free(t->weight);
  free(t->cluster);
  free(t->stratum);
  free(t->replicate);
  free(t->replicate_row);
}
