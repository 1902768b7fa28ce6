"""Messages about the data: files, tables, labels, samples of a batch."""

from __future__ import annotations

ROWS: tuple[tuple[str, str], ...] = (
    (
        r"label value of (?P<most>\d+) which is outside the valid range of \[0, (?P=most)\)",
        "compare the largest label with the number of classes: one as large as that number means that the labels count from 1 (subtract 1) or that one class more is needed; 255 or -1 often means `ignore_index`",
    ),
    (
        r"cannot mmap an empty file|mmap length is greater than filesize|[Ee]mpty file|File size unexpectedly exceeded|is too small to be",
        "list the sizes of the data files (`ls -l DIR`, `find DIR -size 0`): the one that was opened there is empty or cut off; make or copy it again, and check the others of its kind",
    ),
    (
        r"\[Errno 22\] Invalid argument",
        ("print the path before it is opened at that line, and open that file alone: it is damaged or empty, or its name has a character that "
        "this file system refuses"),
    ),
    (
        r"No labels found|no labels in|[Ll]abels? (?:are|is) missing or empty|0 images, \d+ backgrounds",
        ("list the folders of pictures and of labels side by side: the labels are not where the library looks for them (for Ultralytics `labels/` beside "
        "`images/`, with the same names), or empty; delete its cache files then, and start again"),
    ),
    (
        (r"image file is truncated|cannot identify image file|(?i:unknown) image file format|broken data stream when reading image"
        r"|Invalid (?:JPEG|PNG) data|Premature end of JPEG|Error decoding (?:image|audio)|Not a (?:JPEG|PNG) file|"
        r"(?:Format not recognised|Error opening .{0,200}: (?:System error|File contains data in an unknown format))"),
        ("open every file of the data set once and let it decode (`PIL.Image.open(path).load()` for pictures), to find those "
        "that cannot be read; copy them again or take them out"),
    ),
    (
        (r"num_samples should be a positive integer value, but got num_samples=0|Found 0 (?:images|files|samples)|"
        r"found no (?:images|files|data)|Found no valid file|Caught .{0,40}empty dataset|No objects to concatenate"),
        "the data set is empty: print the folder that it reads and how many files it finds there, before the filter and after it",
    ),
    (
        r"stack expects each tensor to be equal size, but got \[(?P<a>[\d, ]{1,40})\] at entry \d+ and \[(?P<b>[\d, ]{1,40})\]",
        "samples of one batch have the sizes [{a}] and [{b}]: resize or crop them alike, pad them in a collate_fn, or take out the odd one",
    ),
    (
        (r"expected sequence of length \d+ at dim \d+ \(got \d+\)|Unable to create tensor, you should probably activate truncation"),
        ("samples of one batch have different lengths: pad them as they are put together (`DataCollatorWithPadding`, or give the "
        "Trainer its `processing_class`), in the evaluation set as well"),
    ),
    (
        r"Found indices in 'edge_index' that are larger than (?P<most>\d+) \(got (?P<got>\d+)\)",
        ("edges name node {got}, but there are rows for 0 to {most} only: map the ids to rows before the edges are built, drop edges to "
        "unknown nodes, and check `edge_index.max() < x.size(0)`"),
    ),
    (
        r"you must first build vocabulary|corpus is empty|[Ee]mpty vocabulary",
        ("the corpus gave no words: print the first sentences after the tokeniser, and repair what it throws away (another alphabet, a wrong "
        "encoding, an empty file)"),
    ),
    (
        (r"label must be in [\[(]0, ?1[\])]|label and prediction size not match|Target (?:-?\d+) is out of bounds|"
        r"Assertion `?\(?t(?:arget)? >= 0 && t(?:arget)? < n_classes|Assertion `?cur_target >= 0|"
        r"Received a label value of|label value .{0,40}outside the valid range|y contains previously unseen labels|"
        r"(?:Invalid classes inferred|Expected: \[0 1)"),
        ("labels lie outside of what the model has: count the values of the labels in the data that was added last "
        "(`numpy.unique(labels, return_counts=True)`), and compare with its number of classes; 255 or -1 often means `ignore_index`"),
    ),
    (
        (r"index out of range in self|Assertion `?srcIndex < srcSelectDimSize|vectorized gather kernel index out of bounds|"
        r"indices\[[\d, ]+\] = (?:\d+) is not in \[0, (?:\d+)\)"),
        ("an index is larger than its embedding has rows: compare the largest token with `model.config.vocab_size`; after tokens were "
        "added, `model.resize_token_embeddings(len(tokenizer))`; positions past the longest sequence do the same"),
    ),
    (
        r"could not convert string to float: '?(?P<word>[^'\n]{1,40})'?",
        "a column that is no number has come in: find it by {word!r} in the data, and convert or drop that column",
    ),
    (
        r"Input (?:X|y)? ?contains (?:NaN|infinity)|array must not contain infs or NaNs|contains NaN, infinity",
        "count the empty cells of each column (`df.isna().sum()`), and fill or drop them before the model",
    ),
    (
        r"JSONDecodeError|Expecting (?:value|property name|',' delimiter).{0,40}line (?:\d+) column|Extra data: line|Unterminated string",
        "the file is no whole JSON: look at where it breaks (`python -m json.tool FILE`); an empty or cut-off file has to be copied again",
    ),
    (
        r"UnicodeDecodeError|codec can't decode byte",
        "read the file in its own encoding (`file -i FILE`; `open(..., encoding=...)`), or replace what cannot be read (`errors='replace'`)",
    ),
    (
        r"Error tokenizing data\. C error: Expected (?P<want>\d+) fields in line (?P<line>\d+), saw (?P<saw>\d+)",
        "line {line} of the table has {saw} fields where {want} are expected: look at it (`sed -n {line}p FILE`), for a separator in a text or a row that was cut off",
    ),
    (
        r"Unable to allocate (?P<size>[\d.]+ [KMGTP]iB) for an array with shape (?P<shape>\([\d, ]+\)) and data type (?P<type>\w+)",
        "do not make this array of {size} (shape {shape}, {type}) in one piece: keep it sparse, cut it into parts, use a smaller type, or read it with numpy.memmap",
    ),
    (
        (r"Parquet magic bytes not found|Not a [Pp]arquet file|Couldn't deserialize thrift|(?:Bad|bad) [Zz]ip|File is not a zip file|not a gzip file|Not a gzipped file"
        r"|Compressed file ended before|CRC check failed|unexpected end of (?:file|data)|File not found or corrupted|NonMatching(?:Checksum|SplitsSizes)Error|hash mismatch|checksum (?:mismatch|failed|error|does not match)"),
        "the file was not copied to its end, or is of another kind: look at its size and its first bytes (`ls -l FILE; file FILE`), delete it (and its entry in the cache), and fetch it again",
    ),
    (
        r"MDB_MAP_FULL",
        "make the map of the LMDB larger (`map_size`), or see whether the disk under it is full (`df -h DIR`)",
    ),
    (
        r"unable to lock file|Resource temporarily unavailable.{0,80}lock|database is locked",
        "find the other process that has the file open (`fuser -v FILE`), and let only one of them write; on NFS, set HDF5_USE_FILE_LOCKING=FALSE for reading",
    ),
    (
        r"!_src\.empty\(\)|!buf\.empty\(\)",
        "the picture was not read: cv2.imread gave None. Print the path that it was given: it does not exist, is no picture, or is cut off",
    ),
    (
        r"moov atom not found|Invalid data found when processing input|Format not recognised|Failed to open the input",
        "find the file that cannot be decoded (print its path before it is opened; `ffprobe FILE`): copy it again or take it out",
    ),
    (
        r"default_collate: batch must contain .{0,120}NoneType",
        "a sample is None: `__getitem__` returned nothing for it (a file that could not be read, a branch without return): return another sample, or drop None in a collate_fn",
    ),
    (
        r"Trying to resize storage that is not resizable",
        "samples of one batch differ in size or are views: print their shapes, pad or crop them alike, and return `.clone()` of slices",
    ),
    (
        r"output with shape \[1, \d+, \d+\] doesn't match the broadcast shape \[3",
        "a picture has one channel where three are expected: `.convert('RGB')` when it is opened, and find out which files are grey",
    ),
    (
        r"Unknown split \"?(?P<split>\w{1,40})\"?\. Should be one of (?P<all>\[[\w', ]{1,200}\])",
        "the data set has the splits {all} and no {split}: name one of these, or cut a part off (`train_test_split`)",
    ),
    (
        r"DatasetNotFoundError|Dataset .{1,120} doesn't exist on the Hub|Couldn't find (?:a |any )?(?:dataset|data file)",
        "compare the name of the data set letter by letter with its page or its folder (`ls -ld PATH`); a private one needs a login (`hf auth login`)",
    ),
    (
        r"DatasetGenerationCastError|All the data files must have the same columns|Couldn't cast",
        "find the file whose columns differ from the first one's (the message names both): mend it, or load the files apart",
    ),
    (
        r"No columns in the dataset match the model's forward method signature|did not return a loss from the inputs",
        "print the columns of the data set and the arguments of the model's forward: rename the column of the answers to `labels`, or set `remove_unused_columns=False`",
    ),
    (
        r"None of \[.{0,200}\] are in the \[(?:columns|index)\]|\[.{0,200}\] not in index|not found in axis|Column (?:name )?\S{1,60} (?:not|doesn't) .{0,20}(?:in the dataset|exist)|not in the dataset\. Current columns",
        "print the columns that are there (`df.columns.tolist()`), and compare them letter by letter with those that the program names (spaces, case, a renamed export)",
    ),
    (
        r"inconsistent numbers of samples: \[(?P<a>\d+), (?P<b>\d+)\]",
        "the inputs have {a} rows and the answers {b}: print both lengths after each step that filters or joins them",
    ),
    (
        r"Length of values \((?P<a>\d+)\) does not match length of index \((?P<b>\d+)\)",
        "the new column has {a} values for {b} rows: print both lengths, a filter was used on one of them only",
    ),
    (
        r"X has (?P<now>\d+) features, but (?P<what>\w{1,60}) is expecting (?P<then>\d+) features",
        "{what} was fitted on {then} columns and gets {now} now: use the columns of the training (keep their list with the model), one-hot columns included",
    ),
    (
        r"feature names should match those that were passed during fit|feature_names mismatch|number of features in data .{0,20}is not the same as it was in training data",
        "compare the columns of now with those of the training: keep their list with the model, and bring the new data into this order (`df.reindex(columns=...)`)",
    ),
    (
        r"least populated class in y has only 1 member|n_splits=(?:\d+) cannot be greater than the number of members in each class",
        "count the rows of each class (`numpy.unique(y, return_counts=True)`): one has too few for this split; put rare ones together, or split without stratifying",
    ),
    (
        r"Only one class (?:is )?present in y_true|number of classes has to be greater than one|contains only one (?:unique|label)|needs samples of at least 2 classes",
        "count the classes in this part of the data (`numpy.unique(y, return_counts=True)`): only one is left in it. Split by class (stratified), shuffle before the split",
    ),
    (
        r"can't handle a mix of \w+|Target is multiclass but average='binary'|multiclass format is not supported|multi_class must be in",
        "print the shapes and the first values of the answers and of the predictions: probabilities need `argmax` or a threshold first, several classes need `average=` (macro, weighted)",
    ),
    (
        r"special JSON characters in feature name",
        "rename the columns to letters, digits and underscores: `df.columns = df.columns.str.replace(r'[^0-9A-Za-z_]+', '_', regex=True)`",
    ),
    (
        r"dtypes (?:for data )?must be int, float,? (?:or )?bool|Fields with bad pandas dtypes|Invalid columns:",
        "convert the columns that the message names: `.astype('category')` for texts (and switch categories on), `pandas.to_numeric(..., errors='coerce')` for numbers that were read as texts",
    ),
    (
        r"Bad value for num_feature\[.{0,200}\]=\"?(?:[^\"\n]{1,40})|Cannot convert '?b?'?(?:[^'\n]{1,40})'? to float|must be integer or string, real number values and NaN values should be converted",
        "name the columns with texts as categories (`cat_features`), and fill their empty cells with a text; numbers that were read as texts have to be converted",
    ),
    (
        r"All features are either constant or ignored",
        "print the data that the model was given (`df.nunique()`): every column has one value only, usually after a filter or a join that went wrong",
    ),
    (
        r"inhomogeneous shape|setting an array element with a sequence|Unsupported object type|can't convert np\.ndarray of type numpy\.object_",
        "print the lengths and types of the elements: one has another length than the others, or is a text or None; pad them, or convert the column first",
    ),
    (
        r"time data '?(?P<value>[^'\n]{1,40})'? (?:does not|doesn't) match format",
        "dates come in another form than the program expects, as {value!r}: look at the rows around it, and read them with their own format (or `format='mixed'`)",
    ),
    (
        r"Resource (?:\x1b\[\d+m)?(?P<name>\w{1,60})(?:\x1b\[0m)? not found",
        "fetch it once: `python -m nltk.downloader {name}`; without a network, copy the folder nltk_data and name it in NLTK_DATA",
    ),
    (
        r"\[E050\] Can't find model '(?P<name>[\w.-]{1,80})'",
        "fetch it once: `python -m spacy download {name}`",
    ),
    (
        r"[Pp]y[Dd]ataset has length 0|needs? at least one (?:array|sample)|cannot reshape array of size 0|zero-size array to reduction|[Ee]xpected non-empty|argmax of an empty sequence|max\(\) arg is an empty sequence|min\(\) arg is an empty sequence|[Mm]ean of empty slice",
        "the data is empty at that place: print the lengths after each step that reads or filters it; look for a folder without files or a filter that takes all",
    ),
    (
        r"ZeroDivisionError: (?:integer |float )?(?:division|modulo) by zero|ZeroDivisionError: division",
        "print what it divides by: often the length of a loader or of a list that is empty (fewer samples than a batch with `drop_last=True`, a folder without files)",
    ),
    (
        r"\bKeyError: '(?P<key>[\w. -]{1,60})'",
        "print which keys are there at that line, and find the rows, the columns (in a join: of one of the two tables) or the settings without '{key}': spelled differently, renamed by a newer version, or missing in a part of the data",
    ),
)  # fmt: skip
