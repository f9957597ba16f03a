#include "backend/backend.h"

#include "os/fd.h"

void cc_note_done(struct cc_note *note)
{
	cc_fd_close(&note->fd);
	cc_json_doc_free(note->doc);
	*note = (struct cc_note){.fd = -1};
}
