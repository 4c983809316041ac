/* table_attributes.c - columns that say something of rows rather than being items: sampling weights, frequencies and
 * clusters. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "table.h"

enum { MOST_COPIES = 1000000000 }; /* of a row */

/* The column that an option names, or NULL. */
static const char *asked(const table *t, column_role role) {
  const table_options *o = &t->options;
  return role == ROLE_WEIGHT      ? o->weights
         : role == ROLE_FREQUENCY ? o->frequencies
         : role == ROLE_CLUSTER   ? o->cluster
                                  : o->id;
}

static const char *flag_of(column_role role) {
  static const char *const flags[] = {"weights", "frequencies", "cluster", "id"};
  return flags[role - ROLE_WEIGHT];
}

static blica_status check_asked(const table *t, column_role role, char *message) {
  const table_options *o = &t->options;
  if (role == ROLE_ID) return BLICA_OK;
  if (o->unlabelled)
    return table_fail(message, BLICA_ERR_ARGUMENT,
                      "--%s: rows in the order of time whose segments are to be found have no weights and no clusters; "
                      "leave out the option",
                      flag_of(role));
  if (role == ROLE_FREQUENCY && (o->segment_length || o->segment_count))
    return table_fail(message, BLICA_ERR_ARGUMENT,
                      "--frequencies repeats rows, and --segment-length and --segment-count number them; name the "
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

static blica_status begin_ids(table *t, int column, char *message) {
  table_ids_free(t->options.ids);
  t->options.ids->name = strdup(t->header ? t->header[column] : "id");
  return t->options.ids->name ? BLICA_OK : table_no_memory(message);
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

blica_status table_find_attributes(table *t, char *message) {
  for (column_role role = ROLE_WEIGHT; role < ROLES; role++) {
    const char *name = asked(t, role);
    char buffer[32];
    int column;
    if (!name) continue;
    MUST(check_asked(t, role, message));
    MUST(table_find_column(t, flag_of(role), name, strlen(name), &column, message));
    if (t->role[column] != ROLE_VALUE)
      return table_fail(message, BLICA_ERR_ARGUMENT,
                        "%s: --%s names column %d (%s), which holds the segments or what another option names; give it "
                        "a column of its own",
                        t->name, flag_of(role), column + 1, table_column_name(t, column, buffer));
    t->role[column] = role;
    t->attributes |= role != ROLE_ID || t->options.ids;
    if (role == ROLE_ID && t->options.ids) MUST(begin_ids(t, column, message));
  }
  return BLICA_OK;
}

static blica_status refuse(const table *t, column_role role, const bl_record_field *f, const char *what,
                           char *message) {
  return table_fail(
      message, BLICA_ERR_DATA, "%s, row %lld: its %s (--%s %s) is '%.*s'; %s", t->name, (long long)t->row + 1,
      role == ROLE_WEIGHT      ? "weight"
      : role == ROLE_FREQUENCY ? "frequency"
                               : "cluster",
      flag_of(role), asked(t, role), (int)(f->length < 40 ? f->length : 40), f->length ? f->text : "", what);
}

/* Space for the attributes of one more row. */
static bool reserve(table *t) {
  if (t->kept < t->kept_capacity) return true;
  const int64_t capacity = t->kept ? 2 * t->kept : 1024;
  double *weight = t->options.weights ? realloc(t->weight, (size_t)capacity * sizeof *weight) : NULL;
  if (weight) t->weight = weight;
  int32_t *cluster = t->options.cluster ? realloc(t->cluster, (size_t)capacity * sizeof *cluster) : NULL;
  if (cluster) t->cluster = cluster;
  if ((t->options.weights && !weight) || (t->options.cluster && !cluster)) return false;
  t->kept_capacity = capacity;
  return true;
}

/* A packer numbers labels: those of clusters have one that takes no rows. */
static blica_status cluster_id(table *t, const bl_record_field *f, char *message, int32_t *id) {
  char label[256];
  *id = 0;
  if (table_is_missing(f->text, f->length) || table_listed_missing(t, f->text, f->length))
    return refuse(t, ROLE_CLUSTER, f, "give the row a cluster of its own if it belongs to none", message);
  if (f->length >= sizeof label || memchr(f->text, 0, f->length))
    return refuse(t, ROLE_CLUSTER, f, "a label of a cluster is text of less than 256 bytes", message);
  memcpy(label, f->text, f->length);
  label[f->length] = 0;
  blica_status status = t->clusters ? BLICA_OK : blica_pack_begin(t->ctx, 2, NULL, &t->clusters);
  if (status == BLICA_OK) status = blica_pack_segment(t->ctx, t->clusters, label, id);
  return status == BLICA_OK ? status : table_library_failed(t, status, message);
}

blica_status table_take_attributes(table *t, const bl_record_field *carried, int64_t *copies, char *message) {
  const bl_record_field *f = &carried[ROLE_FREQUENCY];
  double weight = 1, frequency = 1;
  int32_t cluster = 0;
  if (t->options.frequencies && (!table_number(f->text, f->length, &frequency) || frequency < 0 ||
                                 frequency > MOST_COPIES || frequency != floor(frequency)))
    return refuse(t, ROLE_FREQUENCY, f, "frequencies are whole numbers; --weights takes sampling weights", message);
  *copies = (int64_t)frequency;
  f = &carried[ROLE_WEIGHT];
  if (t->options.weights && (!table_number(f->text, f->length, &weight) || !(weight > 0 && weight < INFINITY)))
    return refuse(t, ROLE_WEIGHT, f, "weights are positive numbers; leave out rows that shall not count", message);
  for (int64_t c = 0; t->options.ids && c < *copies; c++)
    if (!add_id(t->options.ids, &carried[ROLE_ID])) return table_no_memory(message);
  if (t->options.cluster) MUST(cluster_id(t, &carried[ROLE_CLUSTER], message, &cluster));
  for (int64_t c = 0; (t->options.weights || t->options.cluster) && c < *copies; c++) {
    if (!reserve(t)) return table_no_memory(message);
    if (t->weight) t->weight[t->kept] = weight;
    if (t->cluster) t->cluster[t->kept] = cluster;
    t->kept++;
  }
  return BLICA_OK;
}

blica_status table_give_attributes(table *t, blica_data *data, char *message) {
  data->unordered = t->options.frequencies != NULL;
  if (t->options.collect) t->kept = 0;
  data->segments_found = t->labels_found;
  if (t->kept == 0) return BLICA_OK;
  blica_status status = t->weight ? blica_data_set_weights(t->ctx, data, t->weight) : BLICA_OK;
  if (status == BLICA_OK && t->cluster) status = blica_data_set_clusters(t->ctx, data, t->cluster);
  t->kept = 0;
  return status == BLICA_OK ? status : table_library_failed(t, status, message);
}

void table_free_attributes(table *t) {
  blica_packer_free(t->clusters);
  free(t->weight);
  free(t->cluster);
}
